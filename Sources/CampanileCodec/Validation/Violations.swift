public import CampanileBase

/// Collects the violations of a request, so that one error names every invalid field.
public struct Violations: Sendable {
  /// The maximum number of reported violations.
  public static let countMax = 64

  public private(set) var items: [RPCError.FieldViolation] = []
  /// The path of the message under validation, outermost component first.
  private var path: [PathComponent] = []

  private enum PathComponent: Sendable {
    case prefix(String)
    case field(StaticString)
    case element(StaticString, Int)
    case entry(StaticString, String)
  }

  public init() {}

  public var isEmpty: Bool { items.isEmpty }
  public var count: Int { items.count }

  /// Adds a violation. `field` is a path in lowerCamelCase, as in the JSON request: `notification.actions[2].type`. It
  /// is relative to the message under validation.
  public mutating func add(_ field: String, _ description: String, _ reason: Reason) {
    guard items.count < Self.countMax else { return }
    items.append(.init(field: inside(field), description: description, reason: reason.rawValue))
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

  // MARK: The path

  /// Begins the validation of a field's message. `leave()` ends it.
  public mutating func enter(_ field: StaticString) { path.append(.field(field)) }

  /// Begins the validation of an element of a list.
  public mutating func enter(_ field: StaticString, index: Int) { path.append(.element(field, index)) }

  /// Begins the validation of an entry of a map. The key comes from the request: at most 64 characters are reported.
  public mutating func enter(_ field: StaticString, key: String) {
    path.append(.entry(field, String(key.unicodeScalars.prefix(64))))
  }

  /// Begins the validation of a message at a path that ends in a dot or is empty.
  mutating func enter(prefix: String) { path.append(.prefix(prefix)) }

  public mutating func leave() { path.removeLast() }

  private func inside(_ field: String) -> String {
    var result = ""
    for component in path {
      switch component {
      case .prefix(let text): result += text
      case .field(let name): result += "\(name)."
      case .element(let name, let index): result += "\(name)[\(index)]."
      case .entry(let name, let key): result += "\(name).\(key)."
      }
    }
    // A violation of an element or an entry itself.
    if field.isEmpty, result.last == "." { result.removeLast() }
    return result + field
  }

  /// Keeps the violations added after the first `count` only if they are about one of these fields of the message at
  /// `path`, or about their parts.
  mutating func keep(after count: Int, fields: some Sequence<String>, of path: String) {
    let kept = items[count...].filter { item in
      fields.contains { field in
        let name = path + field
        return item.field.hasPrefix(name)
          && [nil, ".", "["].contains(item.field.dropFirst(name.count).first)
      }
    }
    items.replaceSubrange(count..., with: kept)
  }
}
