public import CampanileRPC

/// Gathers what is wrong with a request, so that one answer names every field at fault.
public struct Violations: Sendable {
  /// Violations told at most; a request with more is broken as a whole.
  public static let countMax = 64

  public private(set) var items: [RPCError.FieldViolation] = []

  public init() {}

  public var isEmpty: Bool { items.isEmpty }
  public var count: Int { items.count }

  /// `field` is a path in lowerCamelCase, as the JSON request has it: `notification.actions[2].type`.
  public mutating func add(_ field: String, _ description: String, _ reason: Reason) {
    guard items.count < Self.countMax else { return }
    items.append(.init(field: field, description: description, reason: reason.rawValue))
  }

  /// Throws INVALID_ARGUMENT when there is any. A single violation lends its reason to the error; several make it
  /// `FIELDS_INVALID`.
  public func check() throws(RPCError) {
    guard let first = items.first else { return }
    let others = items.count - 1
    throw RPCError(
      .invalidArgument,
      "\(first.field): \(first.description)" + (others > 0 ? " (and \(others) more)" : ""),
      reason: others > 0 ? Reason.fieldsInvalid.rawValue : first.reason, fieldViolations: items)
  }
}
