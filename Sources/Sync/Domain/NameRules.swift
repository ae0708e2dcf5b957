import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Rules for the names and fields of zones, assets and devices.
enum NameRules {
  static let defaultZone = "ZentikSyncZone"
  static let assetNameMax = 255
  static let bucketsType = "BucketsData"
  static let notificationsType = "NotificationsData"

  /// Returns the zone of a request, or the default zone if it is empty, and validates its name.
  static func zone(_ name: String, _ violations: inout Violations) -> String {
    if name.isEmpty { return defaultZone }
    if !isIdentifier(name) {
      violations.add("zone", "must have 1 to 128 characters of A-Z a-z 0-9 . _ : -, and not be . or ..", .nameInvalid)
    }
    return name
  }

  /// Validates an asset's name, which may become a file name on a device.
  static func asset(_ name: String, _ field: String, _ violations: inout Violations) {
    if name.isEmpty {
      violations.add(field, "must not be empty", .required)
    } else if name.utf8.count > assetNameMax * 4 || name.unicodeScalars.count > assetNameMax {
      violations.add(field, "must have at most \(assetNameMax) characters", .tooLong)
    } else if name == "." || name == ".." || name.unicodeScalars.contains(where: isForbidden) {
      violations.add(field, "must not have / \\ or control characters, nor be . or ..", .nameInvalid)
    }
  }

  static func recordType(_ type: String, _ field: String, isRequired: Bool, _ violations: inout Violations) {
    if type.isEmpty {
      if isRequired { violations.add(field, "must not be empty", .required) }
    } else if !isIdentifier(type) {
      violations.add(field, "must have 1 to 128 characters of A-Z a-z 0-9 . _ : -", .nameInvalid)
    }
  }

  static func device(_ id: String, _ field: String, _ violations: inout Violations) {
    if id.isEmpty {
      violations.add(field, "must not be empty", .required)
    } else if !isIdentifier(id) {
      violations.add(field, "must have 1 to 128 characters of A-Z a-z 0-9 . _ : -, and not be . or ..", .idInvalid)
    }
  }

  /// Parses 64 hexadecimal digits in lower case.
  static func hash(_ text: String, _ field: String, _ violations: inout Violations) -> SHA256Digest? {
    if let digest = digest(text) { return digest }
    violations.add(field, "must have 64 lower-case hexadecimal digits", .hashInvalid)
    return nil
  }

  static func digest(_ text: String) -> SHA256Digest? {
    Hexadecimal.bytes(text).flatMap { SHA256Digest(bytes: $0) }
  }

  private static func isIdentifier(_ text: String) -> Bool {
    TextRules.isIdentifier(text) && text != "." && text != ".."
  }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "/" || scalar == "\\" || scalar.properties.generalCategory == .control || scalar == "\u{2028}"
      || scalar == "\u{2029}"
  }
}
