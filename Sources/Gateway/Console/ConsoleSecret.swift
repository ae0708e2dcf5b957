import CampanileBase
import CampanileCrypto

/// A secret of the console: a prefix and 256 random bits in base64url. Only its SHA-256 is stored.
struct ConsoleSecret: Sendable {
  enum Kind: String, Sendable {
    /// The value of a session's cookie.
    case session = "ccs_"
    /// The token of a one-use link.
    case link = "csl_"
  }
  /// A prefix and 43 characters.
  static let sizeBytes = 47

  let text: String
  let digest: SHA256Digest

  static func random(_ kind: Kind) throws(CryptoError) -> ConsoleSecret {
    let text = kind.rawValue + Base64URL.encode(try SecureRandom.bytes(32))
    return ConsoleSecret(text: text, digest: try SHA256.digest(text))
  }

  private init(text: String, digest: SHA256Digest) {
    self.text = text
    self.digest = digest
  }

  /// Parses a presented secret; `nil` if it is malformed.
  init?(_ text: String, _ kind: Kind) {
    guard text.utf8.count == Self.sizeBytes, text.hasPrefix(kind.rawValue),
      Base64URL.decode(String(text.dropFirst(kind.rawValue.count)))?.count == 32, let digest = try? SHA256.digest(text)
    else { return nil }
    self.init(text: text, digest: digest)
  }

  /// Encrypts or decrypts the 256 bits of a lodge session for the store, so that the file alone opens no session.
  ///
  /// The pad is derived from the cookie's secret, which is random and used for nothing else.
  func sealed(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    let pad = try HMACSHA256.code(Array("campanile lodge session".utf8), key: Array(text.utf8)).bytes
    return zip(bytes, pad).map { $0 ^ $1 }
  }
}
