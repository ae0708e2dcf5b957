import SwiftProtobuf

extension Contract {
  package struct Message: Sendable {
    /// The full name.
    package let name: String
    package let documentation: Documentation
    package let isDeprecated: Bool
    /// The fields, in the order of the proto.
    package let fields: [Field]

    init(
      _ message: Google_Protobuf_DescriptorProto, _ prefix: String, _ comments: FileComments, path: [Int32]
    ) throws {
      name = prefix + message.name
      documentation = comments[path]
      isDeprecated = message.options.deprecated
      fields = try message.field.enumerated().map { try Field($1, in: message, comments[path + [2, Int32($0)]]) }
    }

    /// Returns the field with this proto name.
    package func field(_ name: String) -> Field? { fields.first { $0.name == name } }
  }

  package struct Field: Sendable {
    package indirect enum Kind: Sendable, Hashable {
      case bool, string, bytes, int32, uint32, int64, uint64, float, double
      /// An enum, by its full name.
      case enumeration(String)
      /// A message, by its full name.
      case message(String)
      case map(key: Kind, value: Kind)
    }

    package let name: String
    package let jsonName: String
    package let number: Int32
    package let kind: Kind
    package let isRepeated: Bool
    /// Whether the proto says `optional`.
    package let isOptional: Bool
    /// The name of the oneof that contains the field.
    package let oneof: String?
    package let documentation: Documentation
    package let isDeprecated: Bool
    package let rules: FieldRules

    init(
      _ field: Google_Protobuf_FieldDescriptorProto, in message: Google_Protobuf_DescriptorProto,
      _ documentation: Documentation
    ) throws {
      let entryName = field.typeName.split(separator: ".").last.map(String.init)
      let entry = message.nestedType.first { $0.options.mapEntry && $0.name == entryName }?.field
      name = field.name
      jsonName = field.jsonName
      number = field.number
      self.documentation = documentation
      isDeprecated = field.options.deprecated
      isOptional = field.proto3Optional
      let isInOneof = field.hasOneofIndex && !field.proto3Optional
      oneof =
        isInOneof && message.oneofDecl.indices.contains(Int(field.oneofIndex))
        ? message.oneofDecl[Int(field.oneofIndex)].name : nil
      var types: (key: FieldShape.ValueType, value: FieldShape.ValueType)?
      if let key = entry?.first(where: { $0.number == 1 }), let value = entry?.first(where: { $0.number == 2 }) {
        types = (key.type, value.type)
        kind = .map(key: Kind(key), value: Kind(value))
        isRepeated = false
      } else {
        kind = Kind(field)
        isRepeated = field.label == .repeated
      }
      rules = try FieldRules(
        FieldShape(
          type: field.type, isRepeated: field.label == .repeated,
          hasPresence: field.type == .message || field.hasOneofIndex, entry: types,
          options: [UInt8](field.options.unknownFields.data)))
    }
  }

  package struct Enumeration: Sendable {
    package struct Value: Sendable {
      package let name: String
      package let number: Int32
      package let documentation: Documentation
      package let isDeprecated: Bool
    }

    /// The full name.
    package let name: String
    package let documentation: Documentation
    package let values: [Value]

    init(_ item: Google_Protobuf_EnumDescriptorProto, _ prefix: String, _ comments: FileComments, path: [Int32]) {
      name = prefix + item.name
      documentation = comments[path]
      values = item.value.enumerated().map {
        Value(
          name: $1.name, number: $1.number, documentation: comments[path + [2, Int32($0)]],
          isDeprecated: $1.options.deprecated)
      }
    }
  }
}

extension Contract.Field.Kind {
  init(_ field: Google_Protobuf_FieldDescriptorProto) {
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
