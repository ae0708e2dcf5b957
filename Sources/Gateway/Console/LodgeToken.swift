import CampanileBase

/// The token of a session at Attendance: `cas_` and 256 bits in base64url.
enum LodgeToken {
  private static let prefix = "cas_"

  /// Returns the bits of a token; nil if it is malformed.
  static func bytes(_ text: String) -> [UInt8]? {
    guard text.hasPrefix(prefix) else { return nil }
    let bytes = Base64URL.decode(String(text.dropFirst(prefix.count)))
    return bytes?.count == 32 ? bytes : nil
  }

  static func text(_ bytes: [UInt8]) -> String { prefix + Base64URL.encode(bytes) }
}
