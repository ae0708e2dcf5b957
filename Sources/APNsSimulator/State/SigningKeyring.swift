import APNs
import CampanileCrypto

/// The public half of a signing key, with what it may be used for.
struct SigningKey: Sendable, Hashable {
  var teamID: String
  var keyID: String
  /// PEM of a P-256 public key (RFC 5480).
  var publicKeyPEM: String
  var environment = APNsEnvironment.any
  /// The apps of the team; empty allows each.
  var bundleIDs: [String] = []

  func allows(bundleID: String) -> Bool { bundleIDs.isEmpty || bundleIDs.contains(bundleID) }
}

/// The keys that provider tokens may be signed with, and the tokens that were found to be.
struct SigningKeyring: Sendable {
  private var keys: [String: Entry] = [:]
  /// What a field of `authorization` was found to be: checking a signature costs far more than a push.
  private var judged: [String: ProviderFacts] = [:]
  /// Judged fields that are kept; all are forgotten when there are more.
  private static let judgedMax = 1024

  private struct Entry: Sendable {
    var key: SigningKey
    var publicKey: ES256PublicKey
    var lastIssue: ProviderIssue?
  }

  /// By key id.
  var all: [SigningKey] { keys.values.map(\.key).sorted { $0.keyID < $1.keyID } }
  var count: Int { keys.count }

  /// Adds or replaces a key. Throws `CryptoError` when its PEM is not that of a P-256 public key.
  mutating func add(_ key: SigningKey) throws(CryptoError) {
    let publicKey = try ES256PublicKey(pem: Array(key.publicKeyPEM.utf8), source: "key \(key.keyID)")
    keys[key.keyID] = Entry(key: key, publicKey: publicKey, lastIssue: keys[key.keyID]?.lastIssue)
    judged.removeAll()
  }

  /// Forgets a key: its tokens are invalid from now on. Returns whether it was there.
  mutating func remove(_ keyID: String) -> Bool {
    judged.removeAll()
    return keys.removeValue(forKey: keyID) != nil
  }

  /// What a value of `authorization` is.
  mutating func judge(_ authorization: String?) -> ProviderFacts {
    guard let authorization else { return .missing }
    if let known = judged[authorization] { return known }
    let facts = examine(authorization)
    if judged.count >= Self.judgedMax { judged.removeAll() }
    if authorization.utf8.count <= ProviderClaims.fieldBytesMax { judged[authorization] = facts }
    return facts
  }

  private func examine(_ authorization: String) -> ProviderFacts {
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
