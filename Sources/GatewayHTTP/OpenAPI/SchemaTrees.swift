import CampanileCodec
import CampanileContract

/// JSON Schemas of messages in their ProtoJSON form, with the constraints of the contract.
struct SchemaTrees {
  let contract: Contract
  /// The schemas that are referenced so far, by name.
  private(set) var components: [String: JSONTree] = [:]
  /// The members that each patch leaves out, by the name of its schema.
  private var patches: [String: Set<String>] = [:]
  private let requests: Set<String>
  /// The number of messages and enums with a title.
  private let titleCounts: [String: Int]
  /// The messages that requests contain.
  private let inputs: Set<String>

  /// - Parameter requests: The full names of the messages that are requests.
  init(_ contract: Contract, requests: Set<String>) {
    self.contract = contract
    self.requests = requests
    let names = Array(contract.messages.keys) + Array(contract.enums.keys)
    titleCounts = Dictionary(names.map { (Self.title($0), 1) }, uniquingKeysWith: +)
    var inputs: Set<String> = []
    var waiting = Array(requests)
    while let name = waiting.popLast() {
      guard inputs.insert(name).inserted, let message = contract.messages[name] else { continue }
      for field in message.fields { waiting += Self.messages(in: field.kind) }
    }
    self.inputs = inputs
  }

  private static func messages(in kind: Contract.Field.Kind) -> [String] {
    switch kind {
    case .message(let name): [name]
    case .map(_, let value): messages(in: value)
    default: []
    }
  }

  /// Returns a reference to the schema of a message or an enum; the schema itself for a well-known type.
  mutating func reference(_ name: String) -> JSONTree {
    if let known = Self.wellKnown[name] { return known }
    if components[name] == nil {
      // Stops at a message that contains itself.
      components[name] = .object([:])
      if let item = contract.enums[name] {
        components[name] = schema(of: item)
      } else if let message = contract.messages[name] {
        components[name] = schema(of: message)
      }
    }
    return Self.reference(toComponent: name)
  }

  /// Returns a reference to the schema of a resource in an update. It requires no member, because only the members that
  /// the mask names are validated.
  ///
  /// - Parameter left: The JSON names of members that the path contains.
  mutating func patch(_ name: String, without left: Set<String>) -> JSONTree {
    guard let message = contract.messages[name], Self.wellKnown[name] == nil else { return reference(name) }
    var component = name + "Patch"
    while contract.messages[component] != nil || patches[component].map({ $0 != left }) == true { component += "2" }
    if patches.updateValue(left, forKey: component) == nil {
      components[component] = schema(of: message, without: left, isPatch: true)
      if let title = title(name) {
        components[component]?.set("title", .string(title + component.dropFirst(name.count)))
      }
    }
    return Self.reference(toComponent: component)
  }

  static func reference(toComponent name: String) -> JSONTree {
    .object(["$ref": .string("#/components/schemas/\(name)")])
  }

  /// Returns the schema of a message as an object.
  ///
  /// - Parameters:
  ///   - left: The JSON names of members to leave out.
  ///   - nested: The members to leave out of the member with this JSON name.
  mutating func schema(
    of message: Contract.Message, without left: Set<String> = [], nested: [String: Set<String>] = [:],
    isPatch: Bool = false
  ) -> JSONTree {
    let fields = message.fields.filter { !left.contains($0.jsonName) }
    let serverFields = message.serverFields
    var properties: [String: JSONTree] = [:]
    for field in fields {
      var property: JSONTree
      if case .message(let type) = field.kind, !field.isRepeated, field.rules.isIgnored {
        property = patch(type, without: nested[field.jsonName] ?? [])
      } else {
        property = value(of: field, in: message)
      }
      describe(&property, field)
      if serverFields.contains(field.name) { property.set("readOnly", .bool(true)) }
      if requests.contains(message.name), let number = field.defaultNumber {
        property.set("default", Self.number(number, field.kind))
      }
      properties[field.jsonName] = property
    }
    var tree = JSONTree.object(["type": .string("object"), "properties": .object(properties)])
    if !isPatch, left.isEmpty, nested.isEmpty, let title = title(message.name) { tree.set("title", .string(title)) }
    if !message.documentation.isEmpty { tree.set("description", .string(message.documentation.text)) }
    if message.isDeprecated { tree.set("deprecated", .bool(true)) }
    let required = fields.filter { $0.isRequired && !serverFields.contains($0.name) }.map(\.jsonName)
    if !required.isEmpty, !isPatch { tree.set("required", .array(required.map(JSONTree.string))) }
    let pairs = inputs.contains(message.name) ? Self.exclusivePairs(of: fields) : []
    if !pairs.isEmpty { tree.set("not", .object(["anyOf": .array(pairs)])) }
    return tree
  }

  private func describe(_ tree: inout JSONTree, _ field: Contract.Field) {
    if !field.documentation.isEmpty { tree.set("description", .string(field.documentation.text)) }
    if field.isDeprecated { tree.set("deprecated", .bool(true)) }
    if !field.rules.examples.isEmpty { tree.set("examples", .array(field.rules.examples.map(JSONTree.string))) }
  }

  /// Adds a schema under a name that no message has.
  mutating func set(_ name: String, _ schema: JSONTree) { components[name] = schema }

  static func number(_ value: Int64, _ kind: Contract.Field.Kind) -> JSONTree {
    switch kind {
    case .int64, .uint64: .string("\(value)")
    default: .integer(value)
    }
  }

  /// Returns schemas of the pairs of members that belong to the same oneof.
  private static func exclusivePairs(of fields: [Contract.Field]) -> [JSONTree] {
    let members = fields.filter { $0.oneof != nil }
    return members.enumerated().flatMap { (index, first) in
      members[(index + 1)...].filter { $0.oneof == first.oneof }.map { second in
        .object(["required": .array([.string(first.jsonName), .string(second.jsonName)])])
      }
    }
  }

  /// Returns the name of a schema without its package, such as `NotificationPriority`, by which tools name its type.
  /// Returns nil if it could mean another schema.
  private func title(_ name: String) -> String? {
    let title = Self.title(name)
    return titleCounts[title] == 1 ? title : nil
  }

  private static func title(_ name: String) -> String {
    name.split(separator: ".").filter { $0.first?.isUppercase == true }.joined()
  }

  private func schema(of item: Contract.Enumeration) -> JSONTree {
    // An absent member has the value 0, which a request cannot choose otherwise.
    let values = item.values.filter { $0.number != 0 }
    let lines = values.filter { !$0.documentation.isEmpty }.map { "- `\($0.name)`: \($0.documentation.text)" }
    var tree = JSONTree.object([
      "type": .string("string"), "enum": .array(values.map { JSONTree.string($0.name) }),
    ])
    if let title = title(item.name) { tree.set("title", .string(title)) }
    let text = (item.documentation.paragraphs + lines).joined(separator: "\n\n")
    if !text.isEmpty { tree.set("description", .string(text)) }
    return tree
  }
}
