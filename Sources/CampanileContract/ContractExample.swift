package import CampanileCodec

extension Contract {
  /// Returns an example of a request that satisfies the constraints: the required fields, the first member of a
  /// required oneof, and the fields whose rules have an example. An id without an example is a placeholder such as
  /// `BUCKET_ID`, which the reader replaces.
  ///
  /// - Parameter message: The full name of the message. The example of an unknown message is an empty object.
  package func example(of message: String) -> JSONTree {
    var left = Self.exampleFieldsMax
    return example(of: message, depth: 0, &left)
  }

  /// Returns an example of a field's value.
  package func example(of field: Field) -> JSONTree {
    var left = Self.exampleFieldsMax
    return example(of: field, depth: 0, &left)
  }

  /// Maximum depth of nested messages in an example.
  private static let exampleDepthMax = 5
  /// Maximum number of fields in an example, for the descriptors of foreign servers.
  private static let exampleFieldsMax = 1_000
  /// Maximum number of characters in a generated text; a text with a greater minimum has no example.
  private static let exampleTextMax: UInt64 = 1_000

  private func example(of name: String, depth: Int, _ left: inout Int) -> JSONTree {
    if let value = Self.wellKnownExamples[name] { return value }
    guard depth < Self.exampleDepthMax, let message = messages[name] else { return .object([:]) }
    var members: [String: JSONTree] = [:]
    var oneofs: Set<String> = []
    for field in message.fields where left > 0 {
      guard field.needsExample || message.requiredOneofs.contains(field.oneof ?? "") else { continue }
      if let oneof = field.oneof, !oneofs.insert(oneof).inserted { continue }
      left -= 1
      members[field.jsonName] = example(of: field, depth: depth, &left)
    }
    return .object(members)
  }

  private func example(of field: Field, depth: Int, _ left: inout Int) -> JSONTree {
    let elements = field.rules.elements.first
    if case .map(let key, let value) = field.kind {
      let keyTree = example(of: key, field.rules.keys.first, "key", depth: depth, &left)
      let name = if case .string(let text) = keyTree { text } else { "1" }
      return .object([name: example(of: value, elements, "value", depth: depth, &left)])
    }
    guard field.isRepeated else {
      let value = example(of: field.kind, field.rules, field.name, depth: depth, &left)
      guard case .message(let type) = field.kind, case .object(var members) = value else { return value }
      for name in field.emptyMembers { members[messages[type]?.field(name)?.jsonName ?? name] = nil }
      return .object(members)
    }
    var name = field.name
    if name.hasSuffix("s") { name.removeLast() }
    return .array([example(of: field.kind, elements, name, depth: depth, &left)])
  }

  private func example(
    of kind: Field.Kind, _ rules: FieldRules?, _ name: String, depth: Int, _ left: inout Int
  ) -> JSONTree {
    switch kind {
    case .bool: .bool(true)
    case .string: .string(Self.text(rules, name))
    case .bytes: .string("AAAA")
    case .int32, .uint32, .float, .double: .integer(Self.integer(rules))
    case .int64, .uint64: .string("\(Self.integer(rules))")
    case .enumeration(let type): .string(value(of: type, rules))
    case .message("google.protobuf.Duration"): .string("\(Self.seconds(rules))s")
    case .message(let type): example(of: type, depth: depth + 1, &left)
    case .map: .object([:])
    }
  }

  /// Returns the name of the value that the rules have as an example, otherwise of the first accepted one but zero.
  private func value(of type: String, _ rules: FieldRules?) -> String {
    let values = enums[type]?.values ?? []
    let example = values.first { "\($0.number)" == rules?.examples.first }
    var accepted = EnumRules()
    if case .enumeration(let rules)? = rules?.kind { accepted = rules }
    return (example ?? values.first { $0.number != 0 && accepted.accepts($0.number) })?.name ?? ""
  }

  private static func text(_ rules: FieldRules?, _ name: String) -> String {
    if let example = rules?.examples.first { return example }
    guard case .text(let characters, _, let pattern, let values)? = rules?.kind else { return placeholder(name) }
    if let value = values.first { return value }
    if let pattern, let parts = try? PatternCompiler.parts(of: pattern) {
      return parts.prefix(Int(exampleTextMax)).map { part in
        let character = part.characters.filter { $0 > 0x60 }.min() ?? part.characters.min() ?? 0x61
        return String(repeating: Character(Unicode.Scalar(character)), count: max(part.min, part.max > 0 ? 1 : 0))
      }.joined()
    }
    let text = placeholder(name)
    let least = Int(min(characters.min ?? 0, exampleTextMax))
    let padded = text.count < least ? text + String(repeating: "x", count: least - text.count) : text
    return String(padded.prefix(Int(clamping: characters.max ?? .max)))
  }

  private static func placeholder(_ name: String) -> String {
    if name.hasSuffix("_json") { return #"{"key":"value"}"# }
    return name == "id" || name.hasSuffix("_id") ? name.uppercased() : name.replacing("_", with: " ")
  }

  private static func integer(_ rules: FieldRules?) -> Int64 {
    guard case .number(let range)? = rules?.kind else { return 1 }
    // A bound may be any double, also one that no integer equals.
    let lowest = range.lowest.flatMap(Double.init).flatMap { Int64(exactly: $0.rounded(.up)) }
    let highest = range.highest.flatMap(Double.init).flatMap { Int64(exactly: $0.rounded(.down)) }
    return min(max(1, lowest ?? 1), highest ?? .max)
  }

  private static func seconds(_ rules: FieldRules?) -> Int64 {
    guard case .duration(let range)? = rules?.kind else { return 90 }
    return min(max(90, range.lowest ?? 90), range.highest ?? .max)
  }

  private static let wellKnownExamples: [String: JSONTree] = [
    "google.protobuf.Timestamp": .string("2030-01-31T18:30:00Z"), "google.protobuf.Duration": .string("90s"),
    "google.protobuf.FieldMask": .string("*"), "google.protobuf.Struct": .object(["key": .string("value")]),
    "google.protobuf.Value": .string("value"), "google.protobuf.BoolValue": .bool(true),
    "google.protobuf.StringValue": .string("text"), "google.protobuf.Int32Value": .integer(1),
  ]
}

extension Contract.Field {
  /// Whether an example of the message needs the field. The resource of an update has no rules of its own.
  fileprivate var needsExample: Bool {
    isRequired || !rules.examples.isEmpty || rules.kind == nil && rules.isIgnored
  }
}
