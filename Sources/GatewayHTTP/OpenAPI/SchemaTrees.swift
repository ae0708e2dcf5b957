import CampanileCodec

/// JSON Schemas of messages in their ProtoJSON form.
struct SchemaTrees {
  let index: SchemaIndex

  init(_ index: SchemaIndex) { self.index = index }

  /// The well-known types with a special ProtoJSON form.
  private static let wellKnown: [String: JSONTree] = [
    "google.protobuf.Timestamp": .object(["type": .string("string"), "format": .string("date-time")]),
    "google.protobuf.Duration": .object(["type": .string("string"), "examples": .array([.string("1.5s")])]),
    "google.protobuf.FieldMask": .object(["type": .string("string"), "examples": .array([.string("title,body")])]),
    "google.protobuf.Struct": .object(["type": .string("object")]),
    "google.protobuf.Value": .object([:]),
    "google.protobuf.ListValue": .object(["type": .string("array")]),
    "google.protobuf.Empty": .object(["type": .string("object")]),
    "google.protobuf.Any": .object(["type": .string("object")]),
    "google.protobuf.BoolValue": .object(["type": .string("boolean")]),
    "google.protobuf.StringValue": .object(["type": .string("string")]),
    "google.protobuf.BytesValue": .object(["type": .string("string"), "contentEncoding": .string("base64")]),
    "google.protobuf.Int32Value": .object(["type": .string("integer")]),
    "google.protobuf.UInt32Value": .object(["type": .string("integer")]),
    "google.protobuf.Int64Value": .object(["type": .string("string")]),
    "google.protobuf.UInt64Value": .object(["type": .string("string")]),
    "google.protobuf.FloatValue": .object(["type": .string("number")]),
    "google.protobuf.DoubleValue": .object(["type": .string("number")]),
  ]

  static func reference(_ name: String) -> JSONTree {
    wellKnown[name] ?? .object(["$ref": .string("#/components/schemas/\(name)")])
  }

  static func schema(of field: FieldSchema) -> JSONTree {
    let item = schema(of: field.kind)
    return field.isRepeated ? .object(["type": .string("array"), "items": item]) : item
  }

  private static func schema(of kind: FieldSchema.Kind) -> JSONTree {
    switch kind {
    case .bool: .object(["type": .string("boolean")])
    case .string: .object(["type": .string("string")])
    case .bytes: .object(["type": .string("string"), "contentEncoding": .string("base64")])
    case .int32, .uint32: .object(["type": .string("integer"), "format": .string("int32")])
    // A string keeps them exact in every JSON parser.
    case .int64, .uint64: .object(["type": .string("string"), "format": .string("int64")])
    case .float, .double: .object(["type": .string("number")])
    case .enumeration(let name), .message(let name): reference(name)
    case .map(let value): .object(["type": .string("object"), "additionalProperties": schema(of: value)])
    }
  }

  /// Returns whether a query parameter can carry a field of this kind.
  static func isSimple(_ kind: FieldSchema.Kind) -> Bool {
    switch kind {
    case .map: false
    case .message(let name):
      wellKnown[name].map { $0 != .object(["type": .string("object")]) && $0 != .object([:]) } ?? false
    default: true
    }
  }

  /// Returns the schemas of the named messages and of all types that they reference.
  func all(from names: [String]) -> [String: JSONTree] {
    var found: [String: JSONTree] = [:]
    var waiting = names
    while let name = waiting.popLast() {
      guard found[name] == nil, Self.wellKnown[name] == nil else { continue }
      if let values = index.enums[name] {
        found[name] = .object(["type": .string("string"), "enum": .array(values.map { JSONTree.string($0.name) })])
      } else if let message = index.messages[name] {
        var properties: [String: JSONTree] = [:]
        for field in message.fields {
          properties[field.jsonName] = Self.schema(of: field)
          waiting += Self.names(in: field.kind)
        }
        found[name] = .object(["type": .string("object"), "properties": .object(properties)])
      } else {
        found[name] = .object(["type": .string("object")])
      }
    }
    return found
  }

  private static func names(in kind: FieldSchema.Kind) -> [String] {
    switch kind {
    case .message(let name), .enumeration(let name): [name]
    case .map(let value): names(in: value)
    default: []
    }
  }
}
