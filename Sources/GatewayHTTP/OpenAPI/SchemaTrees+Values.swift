import CampanileCodec
import CampanileContract

/// The schemas of values.
extension SchemaTrees {
  /// The well-known types with a special ProtoJSON form.
  static let wellKnown: [String: JSONTree] = [
    "google.protobuf.Timestamp": .text(format: "date-time"),
    "google.protobuf.Duration": .text(pattern: TextPatterns.duration, examples: ["1.5s"]),
    "google.protobuf.FieldMask": .text(pattern: TextPatterns.mask, examples: ["title,body"]),
    "google.protobuf.Struct": .object(["type": .string("object")]),
    "google.protobuf.Value": .object([:]),
    "google.protobuf.ListValue": .object(["type": .string("array"), "items": .object([:])]),
    "google.protobuf.Empty": .object(["type": .string("object")]),
    "google.protobuf.Any": .object(["type": .string("object")]),
    "google.protobuf.BoolValue": .object(["type": .string("boolean")]),
    "google.protobuf.StringValue": .text(),
    "google.protobuf.BytesValue": bytes(nil),
    "google.protobuf.Int32Value": number(.int32, nil),
    "google.protobuf.UInt32Value": number(.uint32, nil),
    "google.protobuf.Int64Value": number(.int64, nil),
    "google.protobuf.UInt64Value": number(.uint64, nil),
    "google.protobuf.FloatValue": number(.float, nil),
    "google.protobuf.DoubleValue": number(.double, nil),
  ]

  /// Returns whether a query parameter can carry a field of this kind.
  static func isSimple(_ kind: Contract.Field.Kind) -> Bool {
    switch kind {
    case .map: false
    case .message(let name): wellKnown[name].map { $0.hasType } ?? false
    default: true
    }
  }

  /// Returns the schema of a field's value as a query parameter.
  mutating func queryValue(of field: Contract.Field, in message: Contract.Message) -> JSONTree {
    var schema = value(of: field, in: message)
    if case .string = field.kind, !field.isRepeated, !field.rules.hasPattern {
      schema.set("pattern", .string(TextPatterns.query))
    }
    return schema
  }

  /// Returns the schema of a field's value with its constraints.
  ///
  /// - Parameter message: The message of the field.
  mutating func value(of field: Contract.Field, in message: Contract.Message) -> JSONTree {
    if case .map(let key, let value) = field.kind {
      let item = schema(of: value, field.rules.elements.first)
      var tree = JSONTree.object(["type": .string("object"), "additionalProperties": item])
      if let names = Self.keys(key, field.rules.keys.first) { tree.set("propertyNames", names) }
      if case .map(let counts)? = field.rules.kind {
        tree.set("minProperties", counts.min)
        tree.set("maxProperties", counts.max)
      }
      return tree
    }
    if case .message("google.protobuf.FieldMask") = field.kind { return mask(field, in: message) }
    guard field.isRepeated else {
      var tree = schema(of: field.kind, field.rules)
      // By convention such a text is a JSON object. The format is not a registered one: tools ignore it.
      if case .string = field.kind, field.name.hasSuffix("_json") {
        tree.set("contentMediaType", .string("application/json"))
        tree.set("format", .string("json-object"))
      }
      return tree
    }
    let item = schema(of: field.kind, field.rules.elements.first)
    var tree = JSONTree.object(["type": .string("array"), "items": item])
    if case .repeated(let counts)? = field.rules.kind {
      tree.set("minItems", counts.min)
      tree.set("maxItems", counts.max)
    }
    return tree
  }

  private mutating func schema(of kind: Contract.Field.Kind, _ rules: FieldRules?) -> JSONTree {
    switch kind {
    case .bool: .object(["type": .string("boolean")])
    case .string: Self.text(rules)
    case .bytes: Self.bytes(rules)
    case .int32, .uint32, .int64, .uint64, .float, .double: Self.number(kind, rules)
    case .message("google.protobuf.Duration"): Self.duration(rules)
    case .enumeration(let name): enumeration(name, rules)
    case .message(let name): reference(name)
    case .map: .object(["type": .string("object")])
    }
  }

  /// Returns the schema of an enum's value: a reference, with the accepted names if the rules restrict them.
  private mutating func enumeration(_ name: String, _ rules: FieldRules?) -> JSONTree {
    var tree = reference(name)
    guard case .enumeration(let rules)? = rules?.kind, rules.listed != nil || !rules.excluded.isEmpty else {
      return tree
    }
    // An absent member has the value 0, which a request cannot choose otherwise.
    let values = (contract.enums[name]?.values ?? []).filter { $0.number != 0 && rules.accepts($0.number) }
    tree.set("enum", .array(values.map { JSONTree.string($0.name) }))
    return tree
  }

  /// Returns the schema of a map's keys; nil if any text is a key.
  private static func keys(_ kind: Contract.Field.Kind, _ rules: FieldRules?) -> JSONTree? {
    switch kind {
    case .string: rules.map { text($0) }
    case .bool: .object(["enum": .array([.string("true"), .string("false")])])
    case .uint32: .text(pattern: TextPatterns.integers(to: UInt64(UInt32.max), isSigned: false))
    case .uint64: .text(pattern: TextPatterns.integers(to: .max, isSigned: false))
    case .int64: .text(pattern: TextPatterns.integers(to: UInt64(Int64.max), isSigned: true))
    default: .text(pattern: TextPatterns.integers(to: UInt64(Int32.max), isSigned: true))
    }
  }

  /// Returns the schema of a mask: the paths that its comment lists, or `*`.
  private func mask(_ field: Contract.Field, in message: Contract.Message) -> JSONTree {
    let resources = message.fields.compactMap { field -> Contract.Message? in
      if case .message(let name) = field.kind { contract.messages[name] } else { nil }
    }
    let words = field.documentation.text.hasPrefix("`") ? field.quotedWords : []
    let paths = words.compactMap { word in resources.lazy.compactMap { $0.field(word)?.jsonName }.first }
    guard words.contains("*"), let first = paths.first else { return .text(pattern: TextPatterns.mask) }
    let choice = "(\(paths.joined(separator: "|")))"
    return .text(pattern: "^(\\*|\(choice)(,\(choice))*)$", examples: [first])
  }

  private static func text(_ rules: FieldRules?) -> JSONTree {
    var tree = JSONTree.text()
    guard case .text(let characters, let bytes, let pattern, let values)? = rules?.kind else { return tree }
    guard values.isEmpty else {
      tree.set("enum", .array(values.map(JSONTree.string)))
      return tree
    }
    // A character has one to four bytes.
    let least = max(characters.min ?? 0, ((bytes.min ?? 0) + 3) / 4)
    if least > 0 { tree.set("minLength", least) }
    tree.set("maxLength", [characters.max, bytes.max].compactMap { $0 }.min())
    tree.set("pattern", .string(pattern ?? TextPatterns.withoutNUL))
    return tree
  }

  private static func bytes(_ rules: FieldRules?) -> JSONTree {
    var tree = JSONTree.text(pattern: TextPatterns.base64)
    tree.set("contentEncoding", .string("base64"))
    guard case .bytes(let sizes)? = rules?.kind else { return tree }
    tree.set("minLength", sizes.min.map { $0 / 3 * 4 + ($0 % 3 > 0 ? 4 : 0) })
    tree.set("maxLength", sizes.max.map { $0 / 3 * 4 + ($0 % 3 > 0 ? 4 : 0) })
    return tree
  }

  private static func duration(_ rules: FieldRules?) -> JSONTree {
    guard case .duration(let range)? = rules?.kind, let low = range.lowest, let high = range.highest, low >= 0 else {
      return wellKnown["google.protobuf.Duration"] ?? .text()
    }
    let pattern = TextPatterns.duration(from: UInt64(low), to: UInt64(high))
    return .text(pattern: pattern, examples: ["\(min(max(90, low), high))s"])
  }

  private static func number(_ kind: Contract.Field.Kind, _ rules: FieldRules?) -> JSONTree {
    var (low, high): (String?, String?)
    if case .number(let range)? = rules?.kind { (low, high) = (range.lowest, range.highest) }
    switch kind {
    case .int32, .uint32:
      let isSigned = kind == .int32
      let least = low.flatMap { Int64($0) } ?? (isSigned ? Int64(Int32.min) : 0)
      let most = high.flatMap { Int64($0) } ?? (isSigned ? Int64(Int32.max) : Int64(UInt32.max))
      return .object(["type": .string("integer"), "minimum": .integer(least), "maximum": .integer(most)])
    case .int64, .uint64:
      // A text keeps them exact in every JSON parser.
      let least = low.flatMap { Int64($0) } ?? (kind == .int64 ? .min : 0)
      let most = high.flatMap { UInt64($0) } ?? (kind == .int64 ? UInt64(Int64.max) : .max)
      let pattern = TextPatterns.integers(to: most, isSigned: least < 0, startsAtOne: least > 0)
      return .text(pattern: pattern, format: "int64")
    default:
      var tree = JSONTree.object(["type": .string("number")])
      if let bound = low.flatMap(Double.init) { tree.set("minimum", .double(bound)) }
      if let bound = high.flatMap(Double.init) { tree.set("maximum", .double(bound)) }
      return tree
    }
  }
}

extension JSONTree {
  /// Whether this is the schema of a text, a number or a Boolean.
  fileprivate var hasType: Bool {
    guard case .object(let members) = self, case .string(let type)? = members["type"] else { return false }
    return type != "object" && type != "array"
  }
}

extension FieldRules {
  /// Whether the contract gives the text a pattern or a list of values.
  var hasPattern: Bool {
    if case .text(_, _, let pattern, let values)? = kind { pattern != nil || !values.isEmpty } else { false }
  }
}
