import CampanileCrypto
import CampanileRPC
import Foundation
import Synchronization

/// Every key of the database, in memory: this process owns the file, so what is here is what is there.
///
/// Lookups are synchronous and safe from any thread. A revocation counts for every lookup that begins after it.
final class KeyRing: Sendable {
  private struct State {
    var byID: [String: Credential] = [:]
    /// By the first eight bytes of the digest; the whole is compared in constant time.
    var byDigestPrefix: [UInt64: [(digest: SHA256Digest, entry: Credential)]] = [:]
  }

  /// The names of the services, in the routing table's order.
  let services: [String]
  let nowMs: @Sendable () -> Int64
  /// What principals may use, whatever they present.
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

  func add(_ key: StoredApiKey) {
    let share = shares.share(of: key.principal.name, nowNs: MonotonicClock.nowNs())
    let entry = Credential(key, services: services, share: share)
    state.withLock { state in
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

  /// Lets a key end at another time.
  func expire(_ id: String, atMs: Int64) { state.withLock { $0.byID[id] }?.expire(atMs: atMs) }

  /// Ends a key for every later lookup and for the entries that connections hold.
  func revoke(_ id: String) { state.withLock { $0.byID[id] }?.revoke() }

  /// The key of a presented secret, or why it is refused: `CREDENTIAL_INVALID`, `_EXPIRED` or `_REVOKED`.
  func authenticate(_ presented: String) -> Result<Credential, RPCError> {
    guard let secret = ApiKeySecret(presented) else { return .failure(CredentialFault.invalid) }
    let candidates = state.withLock { $0.byDigestPrefix[secret.digest.prefix] } ?? []
    guard let entry = candidates.first(where: { $0.digest.isEqual(to: secret.digest) })?.entry else {
      return .failure(CredentialFault.invalid)
    }
    if let fault = entry.fault(nowMs: nowMs) { return .failure(fault) }
    return .success(entry)
  }

  /// The key with this id, also one that is revoked or expired.
  @inline(__always)
  func entry(id: String) -> Credential? { state.withLock { $0.byID[id] } }

  /// The entries that satisfy `isIncluded`.
  func entries(where isIncluded: (Credential) -> Bool) -> [Credential] {
    state.withLock { Array($0.byID.values) }.filter(isIncluded)
  }
}
