import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Generates a message: a struct with its nested types, its decoder and its encoder.
struct MessageGenerator {
  let message: Descriptor
  let options: Options
  let names: Names
  let recursion: Recursion
  let fields: [FieldModel]
  var access: String { options.access }

  init(_ message: Descriptor, options: Options, names: Names, recursion: Recursion) throws {
    self.message = message
    self.options = options
    self.names = names
    self.recursion = recursion
    fields = try message.fields.map { try FieldModel($0, names, recursion: recursion) }
  }

  func generate(_ source: inout SourceText) throws {
    let name = names.declared(message.name, nestedIn: message.containingType, package: message.file.package)
    source.comment(message)
    if options.hasTables {
      return try source.block("\(access)struct \(name): ProtoMessage, StoredMessage") { source in
        try tableBody(&source)
        try nestedTypes(&source)
      }
    }
    let isValidated = try Self.isValidated(message)
    try source.block("\(access)struct \(name): \(isValidated ? "ValidatedMessage" : "ProtoMessage")") { source in
      source.line("\(access)static var protoFullName: String { \(literal(message.fullName)) }", "")
      properties(&source)
      source.line("\(access)init() {}", "")
      memberwiseInitializer(&source)
      decoder(&source)
      source.line("")
      encoder(&source)
      if isValidated { try validation(&source) }
      try nestedTypes(&source)
    }
  }

  private func nestedTypes(_ source: inout SourceText) throws {
    for oneof in message.realOneofs {
      source.line("")
      source.comment(oneof)
      source.block("\(access)enum \(names.type(oneof)): Sendable, Hashable") { source in
        for field in fields where field.field.realContainingOneof === oneof {
          source.comment(field.field)
          var boxed = false
          if case .oneof(_, let recursive) = field.shape { boxed = recursive }
          source.line("\(boxed ? "indirect " : "")case \(field.name)(\(field.value.type))")
        }
      }
    }
    for enumeration in message.enums {
      source.line("")
      try EnumGenerator(enumeration, options: options, names: names).generate(&source)
    }
    for inner in message.messages where !inner.options.mapEntry {
      source.line("")
      try MessageGenerator(inner, options: options, names: names, recursion: recursion).generate(&source)
    }
  }

  private func properties(_ source: inout SourceText) {
    var oneofs: Set<String> = []
    for field in fields {
      let type = field.value.type
      switch field.shape {
      case .plain:
        source.comment(field.field)
        source.line("\(access)var \(field.name): \(type) = \(field.value.initial)")
      case .optional(boxed: false):
        source.comment(field.field)
        source.line("\(access)var \(field.name): \(type)?")
      case .optional(boxed: true):
        source.comment(field.field)
        source.block("\(access)var \(field.name): \(type)?") { source in
          source.line("get { \(field.boxName)?.value }", "set { \(field.boxName) = newValue.map { .init($0) } }")
        }
        source.line("private var \(field.boxName): Indirect<\(type)>?")
      case .repeated:
        source.comment(field.field)
        source.line("\(access)var \(field.name): [\(type)] = []")
      case .map(let key, _):
        source.comment(field.field)
        source.line("\(access)var \(field.name): [\(key.type): \(type)] = [:]")
      case .oneof(let property, _):
        guard let oneof = field.field.realContainingOneof, oneofs.insert(oneof.name).inserted else { continue }
        source.comment(oneof)
        source.line("\(access)var \(property): \(names.type(oneof))?")
      }
    }
    if !fields.isEmpty { source.line("") }
  }

  /// Generates the initializer that takes the fields, in the order of the proto. Omitted fields have their defaults.
  private func memberwiseInitializer(_ source: inout SourceText) {
    let parameters = memberwiseParameters
    if parameters.isEmpty { return }
    let list = parameters.map { "\($0.name): \($0.type)" }.joined(separator: ", ")
    source.block("\(access)init(\(list))") { source in
      for (name, _) in parameters { source.line("self.\(name) = \(name)") }
    }
    source.line("")
  }

  /// The parameters of the initializer that takes the fields, in the order of the proto.
  var memberwiseParameters: [(name: String, type: String)] {
    var parameters: [(name: String, type: String)] = []
    for field in fields {
      let type = field.value.type
      switch field.shape {
      case .plain: parameters.append((field.name, "\(type) = \(field.value.initial)"))
      case .optional: parameters.append((field.name, "\(type)? = nil"))
      case .repeated: parameters.append((field.name, "[\(type)] = []"))
      case .map(let key, _): parameters.append((field.name, "[\(key.type): \(type)] = [:]"))
      case .oneof(let property, _):
        guard let oneof = field.field.realContainingOneof, !parameters.contains(where: { $0.name == property }) else {
          continue
        }
        parameters.append((property, "\(names.type(oneof))? = nil"))
      }
    }
    return parameters
  }
}
