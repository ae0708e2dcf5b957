import APNs
import CampanileCrypto

/// A public key that verifies provider tokens, and its permitted use.
struct SigningKey: Sendable, Hashable {
  var teamID: String
  var keyID: String
  /// PEM of a P-256 public key (RFC 5480).
  var publicKeyPEM: String
  var environment = APNsEnvironment.any
  /// The permitted apps of the team; empty allows all.
  var bundleIDs: [String] = []

  func allows(bundleID: String) -> Bool { bundleIDs.isEmpty || bundleIDs.contains(bundleID) }
}

/// The keys that verify provider tokens, and a cache of verified tokens.
struct SigningKeyring: Sendable {
  private var keys: [String: Entry] = [:]
  /// Cached results by value of `authorization`, because verifying a signature costs far more than a push.
  private var judged: [String: ProviderStatus] = [:]
  /// Maximum size of the cache, which is cleared when it is full.
  private static let judgedMax = 1024

  private struct Entry: Sendable {
    var key: SigningKey
    var publicKey: ES256PublicKey
    var lastIssue: ProviderIssue?
  }

  /// All keys, sorted by key id.
  var all: [SigningKey] { keys.values.map(\.key).sorted { $0.keyID < $1.keyID } }
  var count: Int { keys.count }

  /// Adds or replaces a key. Throws `CryptoError` if its PEM is not a P-256 public key.
  mutating func add(_ key: SigningKey) throws(CryptoError) {
    let publicKey = try ES256PublicKey(pem: Array(key.publicKeyPEM.utf8), source: "key \(key.keyID)")
    keys[key.keyID] = Entry(key: key, publicKey: publicKey, lastIssue: keys[key.keyID]?.lastIssue)
    judged.removeAll()
  }

  /// Removes a key and invalidates its tokens. Returns whether it existed.
  mutating func remove(_ keyID: String) -> Bool {
    judged.removeAll()
    return keys.removeValue(forKey: keyID) != nil
  }

  /// Verifies a value of `authorization`.
  mutating func judge(_ authorization: String?) -> ProviderStatus {
    guard let authorization else { return .missing }
    if let known = judged[authorization] { return known }
    let status = examine(authorization)
    if judged.count >= Self.judgedMax { judged.removeAll() }
    if authorization.utf8.count <= ProviderClaims.fieldBytesMax { judged[authorization] = status }
    return status
  }

  private func examine(_ authorization: String) -> ProviderStatus {
    do throws(ProviderClaimsError) {
      let signed = try ProviderClaims.parse(authorization)
      guard let entry = keys[signed.token.keyID], entry.key.teamID == signed.token.teamID else {
        return .unknownKey(signed.token)
      }
      guard (try? entry.publicKey.isValid(signed.signature, for: signed.signingInput)) == true else {
        return .wrongSignature(signed.token)
      }
      return .verified(signed.token, entry.key)
    } catch {
      return .malformed(error.detail)
    }
  }

  func lastIssue(ofKey keyID: String) -> ProviderIssue? { keys[keyID]?.lastIssue }

  mutating func forgetIssue(ofKey keyID: String) { keys[keyID]?.lastIssue = nil }

  mutating func use(_ issue: ProviderIssue) {
    if keys[issue.keyID]?.lastIssue?.issuedAtSeconds != issue.issuedAtSeconds { keys[issue.keyID]?.lastIssue = issue }
  }
}
