import CampanileBase
import CampanileCrypto

/// The secret that a caller presents: `cmp_` and 256 random bits in base64url.
///
/// The secret is in memory only while a key is created or checked. Only its SHA-256 is stored. A slow password hash
/// would not help, because 256 random bits cannot be guessed.
package struct ApiKeySecret: Sendable {
  package static let prefix = "cmp_"
  /// `cmp_` and 43 characters.
  static let sizeBytes = 47

  /// ASCII.
  let text: String
  let digest: SHA256Digest

  /// Creates a secret. Throws if the system provides no random bytes.
  static func random() throws(CryptoError) -> ApiKeySecret {
    let text = prefix + Base64URL.encode(try SecureRandom.bytes(32))
    return ApiKeySecret(text: text, digest: try SHA256.digest(text))
  }

  private init(text: String, digest: SHA256Digest) {
    self.text = text
    self.digest = digest
  }

  /// Parses a presented secret; `nil` if it is malformed.
  init?(_ text: String) {
    guard text.utf8.count == Self.sizeBytes, text.hasPrefix(Self.prefix),
      Base64URL.decode(String(text.dropFirst(Self.prefix.count)))?.count == 32, let digest = try? SHA256.digest(text)
    else { return nil }
    self.init(text: text, digest: digest)
  }

  /// Returns a new public key id such as `k_7Zq0xVbN2aLm`: 72 random bits, unrelated to the secret.
  static func randomKeyID() throws(CryptoError) -> String { "k_" + Base64URL.encode(try SecureRandom.bytes(9)) }
}
