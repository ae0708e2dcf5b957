import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Rules for the names and fields of zones, assets and devices.
enum NameRules {
  static let defaultZone = "ZentikSyncZone"
  static let assetNameMax = 255
  static let bucketsType = "BucketsData"
  static let notificationsType = "NotificationsData"

  /// The zone that a request means; its name is checked.
  static func zone(_ name: String, _ violations: inout Violations) -> String {
    if name.isEmpty { return defaultZone }
    if !isIdentifier(name) {
      violations.add("zone", "must have 1 to 128 characters of A-Z a-z 0-9 . _ : -, and not be . or ..", .nameInvalid)
    }
    return name
  }

  /// An asset's name: it may become that of a file on a device.
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

  /// 64 hexadecimal digits in lower case.
  static func hash(_ text: String, _ field: String, _ violations: inout Violations) -> SHA256Digest? {
    if let digest = digest(text) { return digest }
    violations.add(field, "must have 64 lower-case hexadecimal digits", .hashInvalid)
    return nil
  }

  static func digest(_ text: String) -> SHA256Digest? {
    let digits = Array(text.utf8)
    guard digits.count == 2 * SHA256Digest.sizeBytes else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return SHA256Digest(bytes: bytes)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  private static func isIdentifier(_ text: String) -> Bool {
    TextRules.isIdentifier(text) && text != "." && text != ".."
  }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "/" || scalar == "\\" || scalar.properties.generalCategory == .control || scalar == "\u{2028}"
      || scalar == "\u{2029}"
  }
}
