import CampanileCrypto

/// The text that a caller presents: `cmp_` and 256 random bits in base64url.
///
/// It exists in memory while a key is made or checked, and is kept nowhere: what is stored is its SHA-256. With 256 random
/// bits there is nothing that a slow password hash would protect.
struct ApiKeySecret: Sendable {
  static let prefix = "cmp_"
  /// `cmp_` and 43 characters.
  static let sizeBytes = 47

  /// ASCII.
  let text: String
  let digest: SHA256Digest

  /// A new secret. Throws when the machine has no random bytes.
  static func random() throws(CryptoError) -> ApiKeySecret {
    let text = prefix + Base64URL.encode(try SecureRandom.bytes(32))
    return ApiKeySecret(text: text, digest: try SHA256.digest(text))
  }

  private init(text: String, digest: SHA256Digest) {
    self.text = text
    self.digest = digest
  }

  /// A presented secret; `nil` when it does not have the form of one.
  init?(_ text: String) {
    guard text.utf8.count == Self.sizeBytes, text.hasPrefix(Self.prefix),
      Base64URL.decode(String(text.dropFirst(Self.prefix.count)))?.count == 32, let digest = try? SHA256.digest(text)
    else { return nil }
    self.init(text: text, digest: digest)
  }

  /// A new public id of a key, for example `k_7Zq0xVbN2aLm`: 72 random bits, unrelated to the secret.
  static func randomKeyID() throws(CryptoError) -> String { "k_" + Base64URL.encode(try SecureRandom.bytes(9)) }
}
