public import CampanileBase
public import CampanileCodec
import CampanileRPC

/// Collects the violations of a request, so that one error names every invalid field.
public struct Violations: Sendable {
  /// The maximum number of reported violations.
  public static let countMax = 64

  public private(set) var items: [RPCError.FieldViolation] = []

  public init() {}

  public var isEmpty: Bool { items.isEmpty }
  public var count: Int { items.count }

  /// Adds a violation. `field` is a path in lowerCamelCase, as in the JSON request: `notification.actions[2].type`.
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
}
