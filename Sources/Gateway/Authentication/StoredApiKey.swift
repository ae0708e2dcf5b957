import CampanileCrypto
import CampanileRPC

/// An API key as it is stored. Times are milliseconds since 1970.
struct StoredApiKey: Sendable, Hashable {
  /// `k_` and 12 characters; public.
  var id: String
  var digest: SHA256Digest
  var principal: Principal
  var scopes: [Scope]
  var description: String
  var createdAtMs: Int64
  var expiresAtMs: Int64?
  /// How long it was made for, whatever has moved its end since; `nil` is without an end.
  var lifetimeMs: Int64?
  var revokedAtMs: Int64?
  /// Accurate to a minute.
  var lastUsedAtMs: Int64?
}
