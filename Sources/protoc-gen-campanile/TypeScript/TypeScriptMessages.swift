import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Declares enums as unions of their names, and messages as interfaces with nested types in a namespace of their name.
///
/// Every member is optional: ProtoJSON omits default values, in requests and in responses.
struct TypeScriptMessages {
  private let types: TypeScriptTypes

  init(_ types: TypeScriptTypes) { self.types = types }

  func declare(_ enumeration: EnumDescriptor, _ source: inout SourceText) {
    source.line("")
    source.documentation(of: enumeration)
    source.line("export type \(TypeScriptTypes.declared(enumeration.name)) =")
    source.indented { source in
      for (index, value) in enumeration.values.enumerated() {
        source.documentation(of: value)
        source.line("| \(literal(value.name))\(index == enumeration.values.count - 1 ? ";" : "")")
      }
    }
  }

  func declare(_ message: Descriptor, _ source: inout SourceText) throws {
    let name = TypeScriptTypes.declared(message.name)
    source.line("")
    source.documentation(of: message)
    if message.fields.isEmpty {
      // An empty interface would accept any value.
      source.line("export type \(name) = Record<string, never>;")
    } else {
      try source.block("export interface \(name)") { source in
        for field in message.fields { try declare(field, &source) }
      }
    }
    let nested = message.messages.filter { !$0.options.mapEntry }
    if nested.isEmpty && message.enums.isEmpty { return }
    try source.block("export namespace \(name)") { source in
      for enumeration in message.enums { declare(enumeration, &source) }
      for inner in nested { try declare(inner, &source) }
    }
  }

  private func declare(_ field: FieldDescriptor, _ source: inout SourceText) throws {
    var notes: [String] = []
    if let oneof = field.realContainingOneof {
      notes = ["At most one member of the oneof `\(oneof.name)` is set."] + source.commentLines(of: oneof)
    }
    source.documentation(of: field, notes)
    source.line("\(Self.key(field.jsonName ?? Names.camelCase(field.name)))?: \(try types.type(field)) | undefined;")
  }

  /// Returns the name of a member, quoted unless it is an ASCII identifier.
  private static func key(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { byte in
      byte == UInt8(ascii: "_")
        || (byte < 0x80 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber))
    }
    return isPlain && name.first?.isNumber == false ? name : jsonLiteral(name)
  }
}

extension SourceText {
  /// Appends a declaration's comment from the proto as TSDoc, followed by `notes`.
  mutating func documentation(of declaration: some ProvidesSourceCodeLocation, _ notes: [String] = []) {
    let lines = (commentLines(of: declaration) + notes).map { $0.replacing("*/", with: "*\\/") }
    if lines.isEmpty { return }
    if lines.count == 1 { return line("/** \(lines[0]) */") }
    line("/**")
    for text in lines { line(text.isEmpty ? " *" : " * " + text) }
    line(" */")
  }

  /// Returns the lines of a declaration's comment in the proto.
  func commentLines(of declaration: some ProvidesSourceCodeLocation) -> [String] {
    let comment = declaration.protoSourceComments(commentPrefix: "")
    return comment.split(separator: "\n").map { String($0.drop { $0 == " " }) }
  }
}
