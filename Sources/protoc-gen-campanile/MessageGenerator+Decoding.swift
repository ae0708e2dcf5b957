import SwiftProtobuf
import SwiftProtobufPluginLibrary

extension MessageGenerator {
  func decoder(_ source: inout SourceText) {
    source.block("\(access)init(from reader: inout JSONReader) throws(ProtoJSONError)") { source in
      for word in 0..<((fields.count + 63) / 64) { source.line("var seen\(word): UInt64 = 0") }
      source.line("var more = try reader.beginObject()")
      source.block("while more") { source in
        if fields.isEmpty {
          source.line("_ = try reader.key()", "try reader.skipValue()")
        } else {
          // One check of a message's fields instead of one a field: it takes a third of the compilation time.
          let isUniform = fields.count <= 64 && !fields.contains(where: takesNull)
          let index = "Self.fieldIndex(try reader.key())"
          source.line("switch \(isUniform ? "try reader.field(\(index), &seen0)" : index) {")
          for (index, field) in fields.enumerated() {
            source.line("case \(index):")
            source.indented { source in
              if !isUniform {
                source.line("try reader.accept(\(index % 64), &seen\(index / 64))")
                if !takesNull(field) { source.line("if try reader.null() { break }") }
              }
              read(field, &source)
            }
          }
          source.line("default: \(isUniform ? "break" : "try reader.skipValue()")", "}")
        }
        source.line("more = try reader.nextMember()")
      }
    }
    guard !fields.isEmpty else { return }
    source.line("")
    source.block("private static func fieldIndex(_ name: JSONName) -> Int") { source in
      let entries = fields.enumerated().flatMap { index, field in
        field.jsonNames.map { (name: $0, result: "\(index)") }
      }
      lookup(entries, otherwise: "-1", &source)
    }
  }

  /// Returns whether null is a value of the field, and does not mean that the field is absent.
  private func takesNull(_ field: FieldModel) -> Bool {
    switch field.shape {
    case .repeated, .map: false
    default: field.value.takesNull
    }
  }

  private func read(_ field: FieldModel, _ source: inout SourceText) {
    let value = field.value
    switch field.shape {
    case .plain, .optional(boxed: false):
      source.line("\(field.property) = \(value.read)")
    case .optional(boxed: true):
      source.line("self.\(field.boxName) = .init(\(value.read))")
    case .oneof(let property, _):
      source.line("if self.\(property) != nil { throw reader.oneofConflict() }")
      source.line("self.\(property) = .\(field.name)(\(value.read))")
    case .repeated:
      source.line("var moreElements = try reader.beginArray()")
      source.block("while moreElements") { source in
        source.line("\(field.property).append(\(value.read))")
        source.line("moreElements = try reader.nextElement()")
      }
    case .map(_, let keyField):
      source.line("var moreEntries = try reader.beginObject()")
      source.block("while moreEntries") { source in
        source.line("let key = try reader.\(Self.keyFunction(keyField))()")
        source.line("if \(field.property)[key] != nil { throw reader.duplicateKey() }")
        source.line("\(field.property)[key] = \(value.read)")
        source.line("moreEntries = try reader.nextMember()")
      }
    }
  }

  private static func keyFunction(_ key: FieldDescriptor) -> String {
    switch key.type {
    case .string: "stringKey"
    case .bool: "boolKey"
    case .int32, .sint32, .sfixed32: "int32Key"
    case .uint32, .fixed32: "uint32Key"
    case .uint64, .fixed64: "uint64Key"
    default: "int64Key"
    }
  }
}
