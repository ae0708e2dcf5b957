import CampanileBase
import CampanileCrypto
import CampanileRPC

/// A stored API key. Times are milliseconds since 1970.
struct StoredApiKey: Sendable, Hashable {
  /// A public identifier: `k_` and 12 characters.
  var id: String
  var digest: SHA256Digest
  /// The caller, and the device that the key is bound to.
  var principal: Principal
  var scopes: [Scope]
  var description: String
  var createdAtMs: Int64
  var expiresAtMs: Int64?
  /// The lifetime that the key was created with, even if its expiry has changed since; `nil` if it does not expire.
  var lifetimeMs: Int64?
  var revokedAtMs: Int64?
  /// Accurate to a minute.
  var lastUsedAtMs: Int64?

  /// Returns a new id such as `k_7Zq0xVbN2aLm`: 72 random bits, unrelated to the secret.
  static func randomID() throws(CryptoError) -> String { "k_" + Base64URL.encode(try SecureRandom.bytes(9)) }
}
