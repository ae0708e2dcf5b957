public import CampanileCodec

/// A field that an update mask can name; the raw value is its name in the proto.
public protocol MaskableField: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  associatedtype Message
  /// Whether the field differs from its default, which selects it if the mask is absent (AIP-134).
  func isSet(in message: Message) -> Bool
  /// Copies the field's value.
  func copy(from source: Message, to target: inout Message)
}

/// Resolves update masks.
public enum UpdateMask {
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
