import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Rules for ids and names that their constraints cannot express.
enum NameRules {
  static let defaultZone = "ZentikSyncZone"
  static let bucketsType = "BucketsData"
  static let notificationsType = "NotificationsData"

  /// Returns the zone of a request, or the default zone if it is empty, and validates its id.
  static func zone(_ name: String, _ violations: inout Violations) -> String {
    path(name, "zoneId", reason: .idInvalid, &violations)
    return name.isEmpty ? defaultZone : name
  }

  /// Validates an asset's name, which may become a file name on a device.
  static func asset(_ name: String, _ field: String, _ violations: inout Violations) {
    path(name, field, &violations)
    if name.unicodeScalars.contains(where: isForbidden) {
      violations.add(field, "must not have / \\ or control characters", .nameInvalid)
    }
  }

  /// Checks that a name is not a relative path.
  static func path(
    _ name: String, _ field: String, reason: Reason = .nameInvalid, _ violations: inout Violations
  ) {
    if name == "." || name == ".." { violations.add(field, "must not be . or ..", reason) }
  }

  static func device(_ id: String, _ field: String, _ violations: inout Violations) {
    path(id, field, reason: .idInvalid, &violations)
  }

  /// Parses 64 hexadecimal digits in lower case.
  static func digest(_ text: String) -> SHA256Digest? {
    Hexadecimal.bytes(text).flatMap { SHA256Digest(bytes: $0) }
  }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    // The constraint already rejects U+0000.
    if scalar == "\u{0}" { return false }
    return scalar == "/" || scalar == "\\" || scalar.properties.generalCategory == .control || scalar == "\u{2028}"
      || scalar == "\u{2029}"
  }
}
