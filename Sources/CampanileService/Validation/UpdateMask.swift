public import CampanileBase
public import CampanileCodec

/// A field that an update mask can name; the raw value is its name in the proto.
public protocol MaskableField: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  associatedtype Message
  /// Whether the field differs from its default, which selects it if the mask is absent (AIP-134).
  func isSet(in message: Message) -> Bool
  /// Copies the field's value.
  func copy(from source: Message, to target: inout Message)
}

extension MaskableField {
  /// The field's name in JSON and in violations: `iconUrl` for `icon_url`.
  public var jsonName: String {
    let words = rawValue.split(separator: "_")
    return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}

/// Resolves update masks.
public enum UpdateMask {
  /// Returns the message of an update request and the fields to change, validated by the constraints of the contract
  /// and by `check`.
  ///
  /// - Parameter field: The name of the message in the request.
  /// - Throws: INVALID_ARGUMENT with all violations, also if the message is nil.
  public static func change<F: MaskableField>(
    _ message: F.Message?, _ field: String, _ mask: ProtoFieldMask?,
    _ check: (F, F.Message, String, inout Violations) -> Void
  ) throws(RPCError) -> (message: F.Message, fields: [F]) where F.Message: ProtoMessage {
    var violations = Violations()
    let message = violations.message(message, field) { _, _, _ in }
    let fields = fields(mask, for: message, as: F.self, &violations)
    // Not every message has constraints.
    if let message = message as? any ValidatedMessage {
      message.validate("\(field).", fields: fields.map(\.jsonName), into: &violations)
    }
    for changed in fields { check(changed, message, field, &violations) }
    try violations.check()
    return (message, fields)
  }

  /// Returns the fields to change, in the order of their declaration.
  ///
  /// An absent or empty mask selects the fields that are set; `*` selects all. Any other name is a violation of
  /// `updateMask`.
  public static func fields<F: MaskableField>(
    _ mask: ProtoFieldMask?, for message: F.Message, as type: F.Type, _ violations: inout Violations
  ) -> [F] {
    guard let mask, !mask.paths.isEmpty else { return F.allCases.filter { $0.isSet(in: message) } }
    if mask.paths == ["*"] { return Array(F.allCases) }
    var named: Set<F> = []
    for path in mask.paths {
      if let field = F(rawValue: path) {
        named.insert(field)
      } else if path == "*" {
        violations.add("updateMask", "* must be the only path", .fieldMaskInvalid)
      } else {
        let shown = String(path.unicodeScalars.prefix(64))
        violations.add("updateMask", "\(shown) is not a field that can be changed", .fieldMaskInvalid)
      }
    }
    return F.allCases.filter(named.contains)
  }
}
