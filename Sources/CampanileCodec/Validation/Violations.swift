public import CampanileBase

/// Collects the violations of a request, so that one error names every invalid field.
public struct Violations: Sendable {
  /// The maximum number of reported violations.
  public static let countMax = 64

  public private(set) var items: [RPCError.FieldViolation] = []

  public init() {}

  public var isEmpty: Bool { items.isEmpty }
  public var count: Int { items.count }

  /// Adds a violation. `field` is a path in lowerCamelCase, as in the JSON request: `notification.actions[2].type`. It
  /// is relative to the message under validation.
  public mutating func add(_ field: String, _ description: String, _ reason: Reason) {
    guard items.count < Self.countMax else { return }
    items.append(.init(field: field, description: description, reason: reason.rawValue))
  }

  /// Returns a required message, validated by `check`. Without one, adds a violation and returns an empty message.
  public mutating func message<M: ProtoMessage>(
    _ message: M?, _ field: String, _ check: (M, String, inout Violations) -> Void
  ) -> M {
    guard let message else {
      add(field, "must be given", .required)
      return M()
    }
    check(message, field, &self)
    return message
  }

  /// Returns the result of checks. Throws as `check()` does if they add violations.
  public static func check<T>(_ checks: (inout Violations) -> T) throws(RPCError) -> T {
    var violations = Violations()
    let result = checks(&violations)
    try violations.check()
    return result
  }

  /// Throws INVALID_ARGUMENT if there is any violation. The error's reason is that of a single violation, or
  /// `FIELDS_INVALID` for several.
  public func check() throws(RPCError) {
    guard let first = items.first else { return }
    let others = items.count - 1
    throw RPCError(
      .invalidArgument,
      "\(first.field): \(first.description)" + (others > 0 ? " (and \(others) more)" : ""),
      reason: others > 0 ? Reason.fieldsInvalid.rawValue : first.reason, fieldViolations: items)
  }

  // MARK: Paths
  // A message is validated with paths relative to itself. Only its violations cost more than the comparison of a count.

  /// Validates the messages of a list, without a copy of each.
  @inlinable
  public mutating func elements<M: ValidatedMessage>(_ messages: [M], _ field: StaticString) {
    messages.withUnsafeBufferPointer { messages in
      guard let first = messages.baseAddress else { return }
      for index in 0..<messages.count {
        let count = items.count
        (first + index).borrow { $0.validate(into: &self) }
        move(after: count, into: field, index: index)
      }
    }
  }

  /// Moves the violations after the first `count` into a field's message.
  @inlinable
  public mutating func move(after count: Int, into field: StaticString) {
    if items.count > count { move(after: count, inside: "\(field)") }
  }

  /// Moves the violations after the first `count` into an element of a list.
  @inlinable
  public mutating func move(after count: Int, into field: StaticString, index: Int) {
    if items.count > count { move(after: count, inside: "\(field)[\(index)]") }
  }

  /// Moves the violations after the first `count` into an entry of a map. The key comes from the request: at most 64
  /// characters are reported.
  @inlinable
  public mutating func move(after count: Int, into field: StaticString, key: String) {
    if items.count > count { move(after: count, inside: "\(field).\(String(key.unicodeScalars.prefix(64)))") }
  }

  /// A violation without a path is about the element or the entry itself.
  @usableFromInline
  mutating func move(after count: Int, inside path: String) {
    for index in items.indices[count...] {
      items[index].field = items[index].field.isEmpty ? path : "\(path).\(items[index].field)"
    }
  }

  /// Keeps the violations added after the first `count` only if they are about one of these fields, or their parts.
  mutating func keep(after count: Int, fields: [String]) {
    let kept = items[count...].filter { item in
      fields.contains { field in
        item.field.hasPrefix(field) && [nil, ".", "["].contains(item.field.dropFirst(field.count).first)
      }
    }
    items.replaceSubrange(count..., with: kept)
  }
}

extension UnsafePointer where Pointee: ~Copyable {
  /// Passes the value to a closure without a copy, which the compiler makes of a copyable value in memory.
  @inlinable func borrow(_ body: (borrowing Pointee) -> Void) { body(pointee) }
}
