import CampanileBase
internal import CampanileCrypto

/// The receipt of one push to one device, with which the device reports what its user did.
///
/// Notifications derives a key for each alert from a key that it never passes on. Activities signs the receipt of each
/// device with the alert's key, so it needs no lasting secret. A receipt permits reports about its own push only.
///
/// As text it is base64url of a version, four parts with their lengths, and the first 16 bytes of an HMAC-SHA-256
/// (RFC 2104, section 5, permits half of the code).
public struct PushReceipt: Sendable, Hashable {
  /// The size of an alert's key, and of the key that it is derived from.
  public static let keySizeBytes = 32
  /// The maximum number of characters. Longer texts are refused before decoding.
  public static let sizeMax = 600
  private static let version: UInt8 = 1
  private static let codeSizeBytes = 16
  private static let keyPurpose = "campanile push receipt"

  public var userID: String
  /// The notification and the number of the hand-over, as in `SendAlertRequest.alert_id`.
  public var alertID: String
  /// The id of the device's push token.
  public var deviceID: String
  /// The `apns-id`.
  public var pushID: String

  public init(userID: String, alertID: String, deviceID: String, pushID: String) {
    self.userID = userID
    self.alertID = alertID
    self.deviceID = deviceID
    self.pushID = pushID
  }

  /// The notification of the alert.
  public var notificationID: String { alertID.lastIndex(of: ":").map { String(alertID[..<$0]) } ?? alertID }

  /// Returns the key with which the receipts of one alert are signed; nil if it cannot be computed.
  public static func alertKey(userID: String, alertID: String, secret: [UInt8]) -> [UInt8]? {
    guard let message = parts([keyPurpose, userID, alertID]) else { return nil }
    return try? HMACSHA256.code(message, key: secret).bytes
  }

  /// Returns the signed text; nil if a part is longer than 255 bytes or the code cannot be computed.
  public func text(alertKey: [UInt8]) -> String? {
    guard let signed = Self.parts([userID, alertID, deviceID, pushID]),
      let code = Self.code(signed, alertKey)
    else { return nil }
    let text = Base64URL.encode([Self.version] + signed + code)
    return text.utf8.count <= Self.sizeMax ? text : nil
  }

  /// Parses and verifies a text. Returns nil for a text that was not signed with a key derived from `secret`.
  public init?(_ text: String, secret: [UInt8]) {
    guard text.utf8.count <= Self.sizeMax, let bytes = Base64URL.decode(text), bytes.first == Self.version,
      bytes.count > 1 + Self.codeSizeBytes
    else { return nil }
    let signed = bytes[1..<(bytes.count - Self.codeSizeBytes)]
    guard let found = Self.read(signed), found.count == 4 else { return nil }
    self.init(userID: found[0], alertID: found[1], deviceID: found[2], pushID: found[3])
    guard let key = Self.alertKey(userID: userID, alertID: alertID, secret: secret),
      let code = Self.code(Array(signed), key), ConstantTime.equal(code, Array(bytes.suffix(Self.codeSizeBytes)))
    else { return nil }
  }

  private static func code(_ signed: [UInt8], _ key: [UInt8]) -> [UInt8]? {
    guard let digest = try? HMACSHA256.code(signed, key: key) else { return nil }
    return Array(digest.bytes.prefix(codeSizeBytes))
  }

  /// Concatenates texts, each after its length in one byte. Different lists never have the same bytes.
  private static func parts(_ texts: [String]) -> [UInt8]? {
    var bytes: [UInt8] = []
    for text in texts {
      guard let size = UInt8(exactly: text.utf8.count) else { return nil }
      bytes.append(size)
      bytes += text.utf8
    }
    return bytes
  }

  private static func read(_ bytes: ArraySlice<UInt8>) -> [String]? {
    var rest = bytes
    var found: [String] = []
    while let size = rest.popFirst() {
      guard rest.count >= Int(size), let text = String(validating: rest.prefix(Int(size)), as: UTF8.self) else {
        return nil
      }
      found.append(text)
      rest = rest.dropFirst(Int(size))
    }
    return found
  }
}
