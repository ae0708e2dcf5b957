import CampanileCrypto
import CampanileRPC
import CampanileStore
import Synchronization

/// The keys in the database and in memory, kept in sync. Implements `AccessService` without its messages.
final class KeyStore: Sendable {
  let repository: ApiKeyRepository
  let ring: KeyRing
  /// Called after a key is revoked, to end its open streams.
  private let onRevoke: @Sendable () -> Void

  init(
    store: Store, ring: KeyRing, changes: AccessChanges? = nil, onRevoke: @escaping @Sendable () -> Void = {}
  ) {
    repository = ApiKeyRepository(store: store, changes: changes)
    self.ring = ring
    self.onRevoke = onRevoke
  }

  /// Reads every key into memory. Call once, before the server starts.
  func load() async throws { try await repository.forEach { ring.add($0) } }

  /// Applies the change of a key by another gateway.
  func refresh(_ id: String) async throws {
    guard let key = try await repository.find(id) else { return forget([id]) }
    if ring.refresh(key) { onRevoke() }
  }

  /// Reads all keys again.
  func refreshAll() async throws {
    let found = Mutex<Set<String>>([])
    // Only keys from before the query can be missing because they were deleted.
    let known = ring.entries { _ in true }.map(\.id)
    try await repository.forEach { key in
      found.withLock { _ = $0.insert(key.id) }
      _ = ring.refresh(key)
    }
    forget(found.withLock { found in known.filter { !found.contains($0) } })
    onRevoke()
  }

  /// Revokes and removes keys that another gateway has deleted.
  private func forget(_ ids: [String]) {
    let ids = ids.filter { ring.entry(id: $0) != nil }
    guard !ids.isEmpty else { return }
    for id in ids { ring.revoke(id) }
    ring.remove(Set(ids))
    onRevoke()
  }

  /// Creates a key and returns it with its secret, which is not stored.
  ///
  /// - Throws: `IdempotentKeyRequest.Repeated` for a repeated request.
  func create(
    principal: Principal, scopes: [Scope], description: String, expiresAtMs: Int64?, secret: CallerSecret? = nil,
    _ request: IdempotentKeyRequest? = nil
  ) async throws -> (key: StoredApiKey, secret: CallerSecret) {
    let secret = try secret ?? CallerSecret.random(.key)
    let nowMs = ring.nowMs()
    let key = StoredApiKey(
      id: try StoredApiKey.randomID(), digest: secret.digest, principal: principal, scopes: scopes,
      description: description, createdAtMs: nowMs, expiresAtMs: expiresAtMs,
      lifetimeMs: expiresAtMs.map { max(1, $0 - nowMs) })
    try await repository.insert(key, request)
    ring.add(key)
    return (key, secret)
  }

  /// Creates a key with the same rights as `id`, which then expires after `overlapMs` unless it expires earlier.
  ///
  /// - Returns: The new key, its secret and the replaced key; `nil` if there is no key `id`.
  /// - Throws: FAILED_PRECONDITION `KEY_ENDED` if the replaced key is expired or revoked; for a repeated request
  ///   `IdempotentKeyRequest.Repeated`.
  func rotate(
    _ id: String, overlapMs: Int64, expiresAtMs: Int64?, _ request: IdempotentKeyRequest? = nil
  ) async throws -> (key: StoredApiKey, secret: CallerSecret, replaced: StoredApiKey)? {
    let nowMs = ring.nowMs()
    let secret = try CallerSecret.random(.key)
    guard let old = try await repository.find(id) else { return nil }
    let lifetimeMs = expiresAtMs.map { max(1, $0 - nowMs) } ?? old.lifetimeMs
    let key = StoredApiKey(
      id: try StoredApiKey.randomID(), digest: secret.digest, principal: old.principal, scopes: old.scopes,
      description: old.description, createdAtMs: nowMs, expiresAtMs: lifetimeMs.map { nowMs + $0 },
      lifetimeMs: lifetimeMs)
    let replaced = try await repository.replace(id, with: key, endsAtMs: nowMs + overlapMs, nowMs: nowMs, request)
    guard let replaced else { return nil }
    ring.add(key)
    ring.expire(id, atMs: replaced.expiresAtMs ?? nowMs)
    return (key, secret, replaced)
  }

  /// Revokes a key: in memory first, so that no call that begins after this one is accepted with it.
  func revoke(_ id: String) async throws -> StoredApiKey? {
    guard try await repository.find(id) != nil else { return nil }
    ring.revoke(id)
    onRevoke()
    return try await repository.revoke(id, nowMs: ring.nowMs())
  }

  /// Stores which keys were used since the last call. Uses that could not be stored are stored by the next call.
  func flushUses() async throws {
    let used = ring.entries { $0.takeUsed() }
    guard !used.isEmpty else { return }
    do { try await repository.touch(used.map(\.id), nowMs: ring.nowMs()) } catch {
      for entry in used { entry.restoreUsed() }
      throw error
    }
  }

  /// Deletes keys that ended more than `ApiKeyLimits.retentionMs` ago, and expired responses to requests for keys.
  func deleteEnded() async throws {
    while try await repository.deleteExpiredRequests(nowMs: ring.nowMs()) > 0 {}
    while true {
      let ids = try await repository.deleteEnded(beforeMs: ring.nowMs() - ApiKeyLimits.retentionMs)
      guard !ids.isEmpty else { return }
      ring.remove(Set(ids))
    }
  }
}
