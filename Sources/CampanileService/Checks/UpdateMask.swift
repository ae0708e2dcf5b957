public import CampanileCodec

/// A field that an update mask may name; the raw value is its name in the proto.
public protocol MaskableField: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  associatedtype Message
  /// Whether the field differs from its default: what an absent mask means (AIP-134).
  func isSet(in message: Message) -> Bool
  /// Takes the field's value over.
  func copy(from source: Message, to target: inout Message)
}

/// Resolves update masks.
public enum UpdateMask {
  /// The fields to change, in the order of their declaration.
  ///
  /// An absent or empty mask means the fields that are set, `*` all of them. A name that is no changeable field is a
  /// violation of `updateMask`.
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
        violations.add("updateMask", "* must stand alone", .fieldMaskInvalid)
      } else {
        let shown = String(path.unicodeScalars.prefix(64))
        violations.add("updateMask", "\(shown) is no field that can be changed", .fieldMaskInvalid)
      }
    }
    return F.allCases.filter(named.contains)
  }
}
