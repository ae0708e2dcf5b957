import CampanileBase
import CampanileCrypto
import CampanileRPC
import Foundation
import Synchronization

/// All keys of the database, in memory. `PeerFollower` applies the changes of other gateways.
///
/// Lookups are synchronous and thread-safe. A revocation is visible to every lookup that begins after it.
final class KeyRing: Sendable {
  private struct State {
    var byID: [String: Credential] = [:]
    /// Indexed by the first eight bytes of the digest; the whole digest is compared in constant time.
    var byDigestPrefix: [UInt64: [(digest: SHA256Digest, entry: Credential)]] = [:]
  }

  /// The names of the services, in the order of the routing table.
  let services: [String]
  let nowMs: @Sendable () -> Int64
  /// The limits of each principal, whichever credential it presents.
  let shares: ShareTable
  private let state = Mutex(State())

  init(
    services: [String], shares: ShareTable = ShareTable(max: 65_536) { CallerShare(rate: nil) },
    nowMs: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) {
    self.services = services
    self.shares = shares
    self.nowMs = nowMs
  }

  var count: Int { state.withLock { $0.byID.count } }

  /// Adds a key, unless it is known.
  func add(_ key: StoredApiKey) {
    let share = shares.share(of: key.principal.name, nowNs: MonotonicClock.nowNs())
    let entry = Credential(key, services: services, share: share)
    state.withLock { state in
      guard state.byID[key.id] == nil else { return }
      state.byID[key.id] = entry
      state.byDigestPrefix[key.digest.prefix, default: []].append((key.digest, entry))
    }
  }

  func remove(_ ids: Set<String>) {
    state.withLock { state in
      for id in ids { state.byID[id] = nil }
      for (prefix, entries) in state.byDigestPrefix where entries.contains(where: { ids.contains($0.entry.id) }) {
        let rest = entries.filter { !ids.contains($0.entry.id) }
        state.byDigestPrefix[prefix] = rest.isEmpty ? nil : rest
      }
    }
  }

  /// Adds a key that another gateway has created, or applies its changes to a known one.
  ///
  /// - Returns: Whether a known key may have ended.
  func refresh(_ key: StoredApiKey) -> Bool {
    guard let known = entry(id: key.id) else {
      add(key)
      return false
    }
    known.expire(atMs: key.expiresAtMs ?? .max)
    if key.revokedAtMs != nil { known.revoke() }
    return known.fault(nowMs: nowMs) != nil
  }

  /// Changes when a key expires.
  func expire(_ id: String, atMs: Int64) { state.withLock { $0.byID[id] }?.expire(atMs: atMs) }

  /// Revokes a key for later lookups and for the credentials that connections have cached.
  func revoke(_ id: String) { state.withLock { $0.byID[id] }?.revoke() }

  /// Returns the key with the presented secret, or `CREDENTIAL_INVALID`, `_EXPIRED` or `_REVOKED`.
  func authenticate(_ presented: String) -> Result<Credential, RPCError> {
    guard let secret = CallerSecret(presented, .key) else { return .failure(CredentialFault.invalid) }
    let candidates = state.withLock { $0.byDigestPrefix[secret.digest.prefix] } ?? []
    guard let entry = candidates.first(where: { $0.digest.isEqual(to: secret.digest) })?.entry else {
      return .failure(CredentialFault.invalid)
    }
    if let fault = entry.fault(nowMs: nowMs) { return .failure(fault) }
    return .success(entry)
  }

  /// Returns the key with this id, even if it is revoked or expired.
  @inline(__always)
  func entry(id: String) -> Credential? { state.withLock { $0.byID[id] } }

  /// Returns the keys that satisfy `isIncluded`.
  func entries(where isIncluded: (Credential) -> Bool) -> [Credential] {
    state.withLock { Array($0.byID.values) }.filter(isIncluded)
  }
}
