import CampanileBase
import CampanileCrypto

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

extension CallerSecret {
  /// Encrypts or decrypts the 256 bits of a lodge session for the store, so that the file alone opens no session.
  ///
  /// The pad is derived from the cookie's secret, which is random and used for nothing else.
  func sealed(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    let pad = try HMACSHA256.code(Array("campanile lodge session".utf8), key: Array(text.utf8)).bytes
    return zip(bytes, pad).map { $0 ^ $1 }
  }
}
