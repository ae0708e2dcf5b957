import CampanileBase
import CampanileCrypto

/// A secret that a caller presents: a prefix and 256 random bits in base64url.
///
/// The secret is in memory only while it is created or checked. Only its SHA-256 is stored. A slow password hash would
/// not help, because 256 random bits cannot be guessed.
package struct CallerSecret: Sendable {
  package enum Kind: String, Sendable {
    /// An API key.
    case key = "cmp_"
    /// The cookie of a session of the console.
    case session = "ccs_"
    /// The token of a one-use link to the console.
    case link = "csl_"
    /// The cookie of a sign-in at the token issuer.
    case issuer = "csi_"

    package var prefix: String { rawValue }
  }
  /// A prefix and 43 characters.
  static let sizeBytes = 47

  /// ASCII.
  let text: String
  let digest: SHA256Digest

  /// Creates a secret. Throws if the system provides no random bytes.
  static func random(_ kind: Kind) throws(CryptoError) -> CallerSecret {
    let text = kind.prefix + Base64URL.encode(try SecureRandom.bytes(32))
    return CallerSecret(text: text, digest: try SHA256.digest(text))
  }

  private init(text: String, digest: SHA256Digest) {
    self.text = text
    self.digest = digest
  }

  /// Parses a presented secret; `nil` if it is malformed.
  init?(_ text: String, _ kind: Kind) {
    guard text.utf8.count == Self.sizeBytes, text.hasPrefix(kind.prefix),
      Base64URL.decode(String(text.dropFirst(kind.prefix.count)))?.count == 32, let digest = try? SHA256.digest(text)
    else { return nil }
    self.init(text: text, digest: digest)
  }
}
