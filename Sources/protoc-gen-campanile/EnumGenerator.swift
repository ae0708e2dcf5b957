import CampanileContract
import SwiftProtobufPluginLibrary

/// Generates an open enum: a case for each named value, and one for all other numbers.
struct EnumGenerator {
  private let enumeration: EnumDescriptor
  private let name: String
  private let access: String
  /// The values with their own cases; the aliases of other values are in `aliases`.
  private var values: [(name: String, value: EnumValueDescriptor)] = []
  private var aliases: [(name: String, of: String, value: EnumValueDescriptor)] = []

  init(_ enumeration: EnumDescriptor, options: Options, names: Names) throws {
    self.enumeration = enumeration
    access = options.access
    name = names.declared(enumeration.name, nestedIn: enumeration.containingType, package: enumeration.file.package)
    for (value, name) in zip(enumeration.values, names.cases(enumeration)) {
      guard value.number != .min else {
        throw value.fault(
          in: enumeration.file, "\(value.fullName): the number stands for unknown names, so no value may have it")
      }
      if let first = values.first(where: { $0.value.number == value.number }) {
        aliases.append((name, first.name, value))
      } else {
        values.append((name, value))
      }
    }
  }

  func generate(_ source: inout SourceText) throws {
    source.comment(enumeration)
    source.block("\(access)enum \(name): ProtoEnum") { source in
      for (name, value) in values {
        source.comment(value)
        source.line("case \(name)")
      }
      source.line(
        "/// A number that the contract does not name; made by `init(rawValue:)` only.", "case unrecognized(Int32)")
      for (name, first, value) in aliases {
        source.comment(value)
        source.line("\(access)static var \(name): Self { .\(first) }")
      }
      source.line(
        "",
        "\(access)init() { self = \(values.first { $0.value.number == 0 }.map { "." + $0.name } ?? ".unrecognized(0)") }",
        "")
      conversions(&source)
    }
  }

  private func conversions(_ source: inout SourceText) {
    source.block("\(access)init(rawValue: Int32)") { source in
      source.line("switch rawValue {")
      for (name, value) in values { source.line("case \(value.number): self = .\(name)") }
      source.line("default: self = .unrecognized(rawValue)", "}")
    }
    source.line("")
    source.block("\(access)var rawValue: Int32") { source in
      source.line("switch self {")
      for (name, value) in values { source.line("case .\(name): \(value.number)") }
      source.line("case .unrecognized(let number): number", "}")
    }
    source.line("")
    source.block("\(access)var protoName: StaticString?") { source in
      source.line("switch self {")
      for (name, value) in values { source.line("case .\(name): \(literal(value.name))") }
      source.line("case .unrecognized: nil", "}")
    }
    source.line("")
    source.block("\(access)static func number(named name: JSONName) -> Int32?") { source in
      let all = enumeration.values.map { (name: $0.name, result: "\($0.number)") }
      lookup(all, otherwise: "nil", &source)
    }
  }
}

/// Appends a function body that looks up `name` by its length, then by its bytes.
func lookup(_ entries: [(name: String, result: String)], otherwise: String, _ source: inout SourceText) {
  let groups = Dictionary(grouping: entries, by: \.name.utf8.count).sorted { $0.key < $1.key }
  if groups.isEmpty { return source.line("return \(otherwise)") }
  source.line("switch name.count {")
  for (count, group) in groups {
    source.line("case \(count):")
    source.indented { source in
      for entry in group { source.line("if name.matches(\(literal(entry.name))) { return \(entry.result) }") }
    }
  }
  source.line("default: break", "}", "return \(otherwise)")
}
