public import CampanileBase
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
