public import CampanileBase

/// A message whose proto declares constraints, in the vocabulary of `buf.validate`.
///
/// `protoc-gen-campanile` generates conforming types.
public protocol ValidatedMessage: ProtoMessage {
  /// Adds a violation for every constraint that the message and the messages inside violate.
  func validate(into violations: inout Violations)
}

extension ValidatedMessage {
  /// Throws INVALID_ARGUMENT with all violations of constraints.
  public func checkConstraints() throws(RPCError) {
    var violations = Violations()
    validate(into: &violations)
    try violations.check()
  }

  /// Validates the message at a path, such as `requests[3].`.
  ///
  /// - Parameters:
  ///   - path: Empty, or a path that ends in a dot.
  ///   - fields: The lowerCamelCase names of the fields to validate, for an update mask. All if nil.
  public func validate(_ path: String, fields: [String]? = nil, into violations: inout Violations) {
    let count = violations.count
    validate(into: &violations)
    if let fields { violations.keep(after: count, fields: fields) }
    if !path.isEmpty { violations.move(after: count, inside: String(path.dropLast())) }
  }
}
