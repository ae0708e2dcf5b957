import CampanileBase
import CampanileRPC
import SwiftProtobuf

/// Schemas of messages and enums from the descriptors, for binding queries and describing the API.
struct SchemaIndex: Sendable {
  private(set) var messages: [String: MessageSchema] = [:]
  private(set) var enums: [String: [EnumValue]] = [:]

  struct EnumValue: Sendable, Hashable {
    var name: String
    var number: Int32
  }
  static let nestingMax = 32

  /// Creates an index of all files in a descriptor set.
  ///
  /// - Parameter descriptorSet: A serialized `google.protobuf.FileDescriptorSet`. Invalid bytes give an empty index.
  init(descriptorSet: [UInt8]) {
    guard let set = try? Google_Protobuf_FileDescriptorSet(serializedBytes: descriptorSet) else { return }
    for file in set.file {
      let prefix = file.package.isEmpty ? "" : file.package + "."
      for message in file.messageType { add(message, prefix, depth: 0) }
      for item in file.enumType { enums[prefix + item.name] = Self.values(item) }
    }
  }

  private mutating func add(_ message: Google_Protobuf_DescriptorProto, _ prefix: String, depth: Int) {
    guard depth < Self.nestingMax else { return }
    let name = prefix + message.name
    let maps = message.nestedType.filter(\.options.mapEntry)
    var schema = MessageSchema(name: name)
    for field in message.field {
      var schemaField = FieldSchema(field)
      if case .message(let entryName) = schemaField.kind,
        let entry = maps.first(where: { entryName == name + "." + $0.name }),
        let key = entry.field.first(where: { $0.number == 1 }), let value = entry.field.first(where: { $0.number == 2 })
      {
        schemaField.entry = [FieldSchema(key), FieldSchema(value)]
        schemaField.kind = .map(schemaField.entry[1].kind)
        schemaField.isRepeated = false
      }
      schema.fields.append(schemaField)
      if field.hasOneofIndex, !field.proto3Optional { schema.oneofs[schemaField.number] = field.oneofIndex }
    }
    messages[name] = schema
    for nested in message.nestedType where !nested.options.mapEntry { add(nested, name + ".", depth: depth + 1) }
    for item in message.enumType { enums[name + "." + item.name] = Self.values(item) }
  }
}

extension SchemaIndex {
  private static func values(_ item: Google_Protobuf_EnumDescriptorProto) -> [EnumValue] {
    item.value.map { EnumValue(name: $0.name, number: $0.number) }
  }
}

struct MessageSchema: Sendable, Hashable {
  /// The full proto name.
  var name: String
  var fields: [FieldSchema] = []
  /// The oneof of each field that belongs to one, by field number.
  var oneofs: [UInt64: Int32] = [:]

  /// Returns the field with this proto or JSON name; ProtoJSON accepts both.
  func field(_ name: String) -> FieldSchema? { fields.first { $0.name == name || $0.jsonName == name } }
}

struct FieldSchema: Sendable, Hashable {
  indirect enum Kind: Sendable, Hashable {
    case bool, string, bytes
    case int32, uint32, int64, uint64
    case float, double
    /// An enum, by its full name.
    case enumeration(String)
    case message(String)
    /// A map to values of this kind, with string or integer keys.
    case map(Kind)
  }

  var name: String
  var jsonName: String
  var number: UInt64
  var kind: Kind
  var wire: Wire
  var isRepeated: Bool
  /// The key and value fields of a map's entries.
  var entry: [FieldSchema] = []

  fileprivate init(_ field: Google_Protobuf_FieldDescriptorProto) {
    name = field.name
    jsonName = field.jsonName
    number = UInt64(max(0, field.number))
    kind = Kind(field)
    wire = Wire(field.type)
    isRepeated = field.label == .repeated
  }

  /// The encoding of a value in protobuf's binary form.
  enum Wire: Sendable, Hashable {
    case varint, zigzag, fixed32, fixed64, lengthDelimited

    fileprivate init(_ type: Google_Protobuf_FieldDescriptorProto.TypeEnum) {
      switch type {
      case .string, .bytes, .message, .group: self = .lengthDelimited
      case .sint32, .sint64: self = .zigzag
      case .fixed32, .sfixed32, .float: self = .fixed32
      case .fixed64, .sfixed64, .double: self = .fixed64
      default: self = .varint
      }
    }

    /// The value of an absent field.
    var zero: ProtobufReader.Value {
      switch self {
      case .varint, .zigzag: .varint(0)
      case .fixed32: .fixed32(0)
      case .fixed64: .fixed64(0)
      case .lengthDelimited: .bytes(0..<0)
      }
    }

    /// Reads the next packed value. Throws the errors of `ProtobufReader`.
    func read(_ reader: inout ProtobufReader) throws(RPCError) -> ProtobufReader.Value {
      switch self {
      case .fixed32: .fixed32(try reader.fixed32())
      case .fixed64: .fixed64(try reader.fixed64())
      default: .varint(try reader.varint())
      }
    }
  }
}

extension FieldSchema.Kind {
  fileprivate init(_ field: Google_Protobuf_FieldDescriptorProto) {
    let typeName = String(field.typeName.drop { $0 == "." })
    switch field.type {
    case .bool: self = .bool
    case .string: self = .string
    case .bytes: self = .bytes
    case .int32, .sint32, .sfixed32: self = .int32
    case .uint32, .fixed32: self = .uint32
    case .int64, .sint64, .sfixed64: self = .int64
    case .uint64, .fixed64: self = .uint64
    case .float: self = .float
    case .double: self = .double
    case .enum: self = .enumeration(typeName)
    case .message, .group: self = .message(typeName)
    }
  }
}
