import SwiftProtobuf

extension Contract {
  package struct Message: Sendable {
    /// The full name.
    package let name: String
    package let package: String
    package let documentation: Documentation
    package let isDeprecated: Bool
    /// The fields, in the order of the proto.
    package let fields: [Field]
    /// The comments of the oneofs, by name.
    package let oneofs: [String: Documentation]
    /// The names of the oneofs of which every valid message has a member.
    package let requiredOneofs: Set<String>
    /// The full names of the messages and enums declared inside, in the order of the proto.
    package let nestedMessages: [String]
    package let nestedEnums: [String]

    init(_ message: Google_Protobuf_DescriptorProto, _ scope: Scope, path: [Int32]) throws {
      let name = scope.prefix + message.name
      self.name = name
      package = scope.package
      documentation = scope.comments[path]
      isDeprecated = message.options.deprecated
      fields = try message.field.enumerated().map {
        try Field($1, in: message, scope, path: path + [2, Int32($0)])
      }
      oneofs = Dictionary(
        message.oneofDecl.enumerated().map { ($1.name, scope.comments[path + [8, Int32($0)]]) },
        uniquingKeysWith: { first, _ in first })
      requiredOneofs = Set(
        try message.oneofDecl.filter { oneof in
          try scope.reading.read(
            { try OneofRules(oneof.options.unknownFields.data).isRequired }, otherwise: false)
        }.map(\.name))
      nestedMessages = message.nestedType.filter { !$0.options.mapEntry }.map { name + "." + $0.name }
      nestedEnums = message.enumType.map { name + "." + $0.name }
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
    /// The type in the proto language, with full names; of a map, the types of its keys and of its values.
    package let protoTypes: [String]
    package let isRepeated: Bool
    /// Whether the proto says `optional`.
    package let isOptional: Bool
    /// The name of the oneof that contains the field.
    package let oneof: String?
    package let documentation: Documentation
    package let isDeprecated: Bool
    package let rules: FieldRules

    init(
      _ field: Google_Protobuf_FieldDescriptorProto, in message: Google_Protobuf_DescriptorProto, _ scope: Scope,
      path: [Int32]
    ) throws {
      let entryName = field.typeName.split(separator: ".").last.map(String.init)
      let entry = message.nestedType.first { $0.options.mapEntry && $0.name == entryName }?.field
      name = field.name
      jsonName = field.hasJsonName ? field.jsonName : Self.camelCase(field.name)
      number = field.number
      documentation = scope.comments[path]
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
        protoTypes = [key.protoType, value.protoType]
        isRepeated = false
      } else {
        kind = Kind(field)
        protoTypes = [field.protoType]
        isRepeated = field.label == .repeated
      }
      let shape = FieldShape(
        type: field.type, messageType: field.type == .message ? String(field.typeName.dropFirst()) : "",
        isRepeated: field.label == .repeated,
        hasPresence: field.type == .message || field.hasOneofIndex, entry: types,
        options: [UInt8](field.options.unknownFields.data))
      rules = try scope.reading.read({ try FieldRules(shape) }, otherwise: .unreadable)
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
    package let package: String
    package let documentation: Documentation
    package let values: [Value]

    init(_ item: Google_Protobuf_EnumDescriptorProto, _ scope: Scope, path: [Int32]) {
      name = scope.prefix + item.name
      package = scope.package
      documentation = scope.comments[path]
      values = item.value.enumerated().map {
        Value(
          name: $1.name, number: $1.number, documentation: scope.comments[path + [2, Int32($0)]],
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

extension Contract.Field {
  /// Returns the JSON name that protoc gives to a field with this name.
  static func camelCase(_ name: String) -> String {
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }
}

extension Google_Protobuf_FieldDescriptorProto {
  /// The name of the type in the proto language.
  fileprivate var protoType: String {
    switch type {
    case .message, .enum, .group: String(typeName.drop { $0 == "." })
    case .double: "double"
    case .float: "float"
    case .int64: "int64"
    case .uint64: "uint64"
    case .int32: "int32"
    case .fixed64: "fixed64"
    case .fixed32: "fixed32"
    case .bool: "bool"
    case .string: "string"
    case .bytes: "bytes"
    case .uint32: "uint32"
    case .sfixed32: "sfixed32"
    case .sfixed64: "sfixed64"
    case .sint32: "sint32"
    case .sint64: "sint64"
    }
  }
}
