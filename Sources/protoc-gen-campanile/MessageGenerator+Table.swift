import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Generates a message whose fields are in a storage, described by a table: less code than for each field.
///
/// Supports what the contract of apps needs: at most 64 fields, and maps from strings to scalars.
extension MessageGenerator {
  /// The fields in the order of their numbers, in which they are written.
  private var tableFields: [FieldModel] { fields.sorted { $0.field.number < $1.field.number } }

  func tableBody(_ source: inout SourceText) throws {
    guard fields.count <= 64 else {
      throw message.fault(in: message.file, "\(message.fullName): more than 64 fields")
    }
    try table(&source)
    // The only stored property, which `StoredMessage.fieldStorage` reads. A public one would add four functions.
    source.line("private var _storage: MessageStorage", "")
    source.line("\(access)init() { _storage = MessageStorage(Self.layout) }", "")
    try tableProperties(&source)
    tableInitializer(&source)
  }

  private func table(_ source: inout SourceText) throws {
    var classes: [String] = []
    let parts = try tableFields.map { field in
      let (letter, type) = try slot(field)
      if let type { classes.append(type + ".self") }
      return "\(field.field.name):\(letter)\(presence(field))"
    }
    let list = classes.isEmpty ? "" : ", [\(classes.joined(separator: ", "))]"
    let text = ([message.fullName] + parts).joined(separator: " ")
    source.line("private static let layout = messageLayout(\(literal(text))\(list))")
  }

  /// Returns the letter of a field's slot and the class of its value, if it has one.
  private func slot(_ field: FieldModel) throws -> (letter: String, type: String?) {
    let proto = field.field
    guard field.jsonNames[0] == Names.protocJSONName(proto.name) else {
      throw proto.fault(in: proto.file, "\(proto.fullName): another JSON name than protoc's")
    }
    let type = field.value.type
    let isScalar = proto.type != .message && proto.type != .enum
    switch field.shape {
    case .map(_, let key):
      let value = proto.messageType.mapKeyAndValue?.value
      guard key.type == .string, let value, value.type != .message, value.type != .enum else {
        throw proto.fault(in: proto.file, "\(proto.fullName): only maps from strings to scalars are supported")
      }
      return ("o", "MapField<\(type)>")
    case .repeated:
      return ("o", isScalar ? "ScalarsField<\(type)>" : "\(proto.type == .enum ? "Enums" : "Messages")Field<\(type)>")
    default: break
    }
    guard !field.value.takesNull else {
      throw proto.fault(in: proto.file, "\(proto.fullName): null is not supported as a value")
    }
    switch proto.type {
    case .bool: return ("b", nil)
    case .double: return ("d", nil)
    case .float: return ("f", nil)
    case .int32, .sint32, .sfixed32: return ("i", nil)
    case .int64, .sint64, .sfixed64: return ("l", nil)
    case .uint32, .fixed32: return ("u", nil)
    case .uint64, .fixed64: return ("v", nil)
    case .string: return ("s", nil)
    case .bytes: return ("o", "BytesField")
    case .enum: return ("e", "EnumField<\(type)>")
    default:
      if type == "ProtoTimestamp" { return ("t", nil) }
      return isWellKnown(proto) ? ("o", "ValueField<\(type)>") : ("m", "MessageField<\(type)>")
    }
  }

  private func isWellKnown(_ field: FieldDescriptor) -> Bool {
    field.messageType.file.package == "google.protobuf"
  }

  private func presence(_ field: FieldModel) -> String {
    switch field.shape {
    case .oneof:
      let index = message.realOneofs.firstIndex { $0 === field.field.realContainingOneof } ?? 0
      return "\(index + 1)"
    case .optional
    where field.field.type != .message || isWellKnown(field.field) && field.value.type != "ProtoTimestamp":
      return "?"
    default: return ""
    }
  }

  // MARK: Properties

  private func tableProperties(_ source: inout SourceText) throws {
    var oneofs: Set<String> = []
    for (index, field) in tableFields.enumerated() {
      if let oneof = field.field.realContainingOneof {
        if oneofs.insert(oneof.name).inserted { oneofProperty(oneof, index, &source) }
        continue
      }
      source.comment(field.field)
      source.inlined(options)
      source.block("\(access)var \(field.name): \(Self.declared(field))") { source in
        source.line("get { \(getter(field, index)) }")
        source.line("set { uniqueStorage().set(\(index), \(argument(field, "newValue"))) }")
        if let type = inPlaceType(field) {
          source.block("_modify") { source in
            source.line(
              "let fields = uniqueStorage()", "defer { fields.changed(\(index)) }",
              "yield &fields.change(\(index), \(type.name)(\(type.empty))).value")
          }
        }
      }
    }
    if !fields.isEmpty { source.line("") }
  }

  /// Returns the type of a field's property.
  private static func declared(_ field: FieldModel) -> String {
    switch field.shape {
    case .plain, .oneof: field.value.type
    case .optional: field.value.type + "?"
    case .repeated: "[\(field.value.type)]"
    case .map: "[String: \(field.value.type)]"
    }
  }

  /// Returns the class of a list or a map, and its empty value.
  private func inPlaceType(_ field: FieldModel) -> (name: String, empty: String)? {
    switch field.shape {
    case .repeated: ((try? slot(field).type ?? nil) ?? "", "[]")
    case .map: ((try? slot(field).type ?? nil) ?? "", "[:]")
    default: nil
    }
  }

  /// Returns the expression of a field's value.
  private func getter(_ field: FieldModel, _ index: Int) -> String {
    let type = field.value.type
    switch field.shape {
    case .repeated, .map:
      let (name, empty) = inPlaceType(field) ?? ("", "")
      return "fieldStorage.object(\(index), \(name).self)?.value ?? \(empty)"
    case .optional, .oneof: return present(field, index, isOptional: true)
    case .plain:
      if field.field.type == .message { return "\(present(field, index, isOptional: true)) ?? \(type)()" }
      return present(field, index, isOptional: false)
    }
  }

  private func present(_ field: FieldModel, _ index: Int, isOptional: Bool) -> String {
    let type = field.value.type
    switch field.field.type {
    case .message:
      if type == "ProtoTimestamp" { return "fieldStorage.timestamp(\(index))" }
      if isWellKnown(field.field) { return "fieldStorage.object(\(index), ValueField<\(type)>.self)?.value" }
      return "fieldStorage.message(\(index)).map(\(type).init(fieldStorage:))"
    case .bytes: return "fieldStorage.object(\(index), BytesField.self)?.value" + (isOptional ? "" : " ?? []")
    case .enum:
      let value = "\(type)(rawValue: fieldStorage.int32(\(index)))"
      return isOptional ? "fieldStorage.has(\(index)) ? \(value) : nil" : value
    default:
      let value = "fieldStorage.\(type.lowercased())(\(index))"
      return isOptional ? "fieldStorage.has(\(index)) ? \(value) : nil" : value
    }
  }

  /// Returns the argument of `set` for a value of a field's property.
  private func argument(_ field: FieldModel, _ value: String) -> String {
    var isOptional = false
    switch field.shape {
    case .repeated, .map: return "\(inPlaceType(field)?.name ?? "")(\(value))"
    case .optional: isOptional = true
    case .plain, .oneof: break
    }
    let type = field.value.type
    switch field.field.type {
    case .enum: return "\(value)\(isOptional ? "?" : "").rawValue"
    case .bytes: return isOptional ? "\(value).map { BytesField($0) }" : "BytesField(\(value))"
    case .message where type == "ProtoTimestamp": return value
    case .message where isWellKnown(field.field):
      return isOptional ? "\(value).map { ValueField($0) }" : "ValueField(\(value))"
    case .message: return "\(value)\(isOptional ? "?" : "").fieldStorage"
    default: return value
    }
  }

  private func oneofProperty(_ oneof: OneofDescriptor, _ first: Int, _ source: inout SourceText) {
    let members = tableFields.enumerated().filter { $0.element.field.realContainingOneof === oneof }
    source.comment(oneof)
    source.inlined(options)
    source.block("\(access)var \(names.member(oneof.name)): \(names.type(oneof))?") { source in
      source.block("get") { source in
        source.line("switch fieldStorage.member(\(first)) {")
        for (index, field) in members {
          let isScalar = field.field.type != .message
          let value = present(field, index, isOptional: !isScalar)
          source.line(
            "case \(index): \(isScalar ? ".\(field.name)(\(value))" : "(\(value)).map { .\(field.name)($0) }")")
        }
        source.line("default: nil", "}")
      }
      source.block("set") { source in
        source.line("let fields = uniqueStorage()", "switch newValue {")
        for (index, field) in members {
          source.line("case .\(field.name)(let value): fields.set(\(index), \(argument(field, "value")))")
        }
        source.line("case nil: fields.clear(\(first))", "}")
      }
    }
  }

  // MARK: Initializer

  /// Generates the initializer that takes the fields, in the order of the proto. Omitted fields have their defaults.
  private func tableInitializer(_ source: inout SourceText) {
    if fields.isEmpty { return }
    source.inlined(options)
    source.block("\(access)init(\(memberwiseParameters.map { "\($0.name): \($0.type)" }.joined(separator: ", ")))") {
      source in
      source.line("self.init()")
      var oneofs: Set<String> = []
      let indices = Dictionary(uniqueKeysWithValues: tableFields.enumerated().map { ($1.field.number, $0) })
      for field in fields {
        if let oneof = field.field.realContainingOneof {
          let name = names.member(oneof.name)
          if oneofs.insert(oneof.name).inserted { source.line("if let \(name) { self.\(name) = \(name) }") }
        } else {
          source.line("fieldStorage.set(\(indices[field.field.number] ?? 0), \(argument(field, field.name)))")
        }
      }
    }
  }
}
