import CampanileCodec

extension JSONTree {
  /// A schema of a text.
  static func text(pattern: String? = nil, format: String? = nil, examples: [String] = []) -> JSONTree {
    var tree = JSONTree.object(["type": .string("string")])
    if let pattern { tree.set("pattern", .string(pattern)) }
    if let format { tree.set("format", .string(format)) }
    if !examples.isEmpty { tree.set("examples", .array(examples.map(JSONTree.string))) }
    return tree
  }

  /// A schema of a condition on an entity tag.
  static var entityTag: JSONTree {
    var tree = text(pattern: TextPatterns.entityTag)
    tree.set("minLength", 1)
    return tree
  }

  static func described(_ text: String) -> JSONTree { .object(["description": .string(text)]) }

  /// The content of a request or a response in one media type.
  static func content(_ schema: JSONTree, _ types: String..., example: JSONTree? = nil) -> JSONTree {
    var media = JSONTree.object(["schema": schema])
    if let example { media.set("example", example) }
    return .object(Dictionary(types.map { ($0, media) }) { $1 })
  }

  /// Returns an object without the member at a path of keys; other values unchanged.
  func without(_ path: ArraySlice<String>) -> JSONTree {
    guard case .object(var members) = self, let name = path.first, let member = members[name] else { return self }
    members[name] = path.count > 1 ? member.without(path.dropFirst()) : nil
    return .object(members)
  }

  /// Sets a number as a keyword; does nothing if it is nil or too large for one.
  mutating func set(_ name: String, _ number: UInt64?) {
    if let number, let value = Int64(exactly: number) { set(name, .integer(value)) }
  }
}
