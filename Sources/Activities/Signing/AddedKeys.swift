import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// The keys that were added by RPC: in files on SQLite, or in rows that the processes on a server share.
///
/// Each side takes over what the other has left, so that keys survive a move of the database.
struct AddedKeys: Sendable {
  let delivery: PushDelivery
  let store: Store

  private var files: SigningKeyFiles {
    SigningKeyFiles(directory: delivery.configuration.addedKeysDirectory, teamID: nil)
  }

  /// Prepares the keys at startup.
  func prepare() async throws {
    store.isShared ? try await takeOverFiles() : try await takeOverRows()
  }

  private func takeOverFiles() async throws {
    let entries = SigningKeyFiles(
      directory: delivery.configuration.addedKeysDirectory, teamID: delivery.configuration.teamID
    ).read().entries
    if !entries.isEmpty {
      let revision = revision()
      try await store.write { transaction in
        let known = Set(try SigningKeyTable.revoked(transaction) + SigningKeyTable.all(transaction).map(\.id))
        let new = entries.filter { !known.contains($0.id) }
        if new.isEmpty { return }
        for entry in new { try SigningKeyTable.put(entry, transaction) }
        try DeliveryMeta.put(revision, as: DeliveryMeta.keys, transaction)
        delivery.notifier.changedKeys()
      }
    }
    try await refresh()
  }

  private func takeOverRows() async throws {
    let entries = try await store.readSingle { try SigningKeyTable.all($0) }
    guard !entries.isEmpty else { return }
    for entry in entries { try files.write(entry.description, pem: entry.key.privatePEM()) }
    try await store.write { transaction in
      for entry in entries { try SigningKeyTable.remove(entry.id, transaction) }
    }
  }

  /// Reads the keys that other processes have added or revoked since the last call.
  ///
  /// - Returns: Whether there were any.
  @discardableResult
  func refresh() async throws -> Bool {
    guard store.isShared else { return false }
    let known = delivery.keysRevision.withLock { $0 }
    let found = try await store.read { transaction -> (String, [SigningKeyID], [SigningKeys.Entry])? in
      let revision = try DeliveryMeta.value(DeliveryMeta.keys, transaction)
      guard revision != known else { return nil }
      return (revision, try SigningKeyTable.revoked(transaction), try SigningKeyTable.all(transaction))
    }
    guard let (revision, revoked, entries) = found else { return false }
    for id in revoked { delivery.keys.revoke(id) }
    for entry in entries { _ = delivery.keys.add(entry) }
    delivery.keysRevision.withLock { $0 = revision }
    // Pushes may be waiting for a key.
    delivery.notifier.signal.notify()
    return true
  }

  /// Stores a key.
  ///
  /// - Throws: FAILED_PRECONDITION, reason `SIGNING_KEY_REVOKED`; RESOURCE_EXHAUSTED, reason
  ///   `SIGNING_KEYS_EXHAUSTED`; UNAVAILABLE, reason `SIGNING_KEY_NOT_KEPT`.
  func put(_ entry: SigningKeys.Entry) async throws {
    guard !delivery.keys.isRevoked(entry.id) else { throw RPCError.signingKeyRevoked(entry.id.keyID) }
    // Checked before the key is stored, because stored keys are loaded again.
    guard delivery.keys.hasRoom(for: entry.id) else { throw RPCError.signingKeysExhausted }
    if store.isShared {
      try await putRow(entry)
    } else {
      try putFile(entry)
    }
    // Wake the dispatcher: pushes may be waiting for this key.
    delivery.notifier.signal.notify()
  }

  private func putRow(_ entry: SigningKeys.Entry) async throws {
    let (notifier, revision) = (delivery.notifier, revision())
    try await RPCError.convertingStoreErrors {
      try await store.write { transaction in
        guard try !SigningKeyTable.revoked(transaction).contains(entry.id) else {
          throw RPCError.signingKeyRevoked(entry.id.keyID)
        }
        let others = try transaction.queryOne(
          SigningKeyTable.countSQL, [.text(entry.id.teamID), .text(entry.id.keyID)]
        ) { try $0.integer(0) }
        guard (others ?? 0) < SigningKeys.countMax else { throw RPCError.signingKeysExhausted }
        try SigningKeyTable.put(entry, transaction)
        try DeliveryMeta.put(revision, as: DeliveryMeta.keys, transaction)
        notifier.changedKeys()
      }
    }
    try await refresh()
  }

  private func putFile(_ entry: SigningKeys.Entry) throws {
    do {
      // Stored as PKCS#8, whatever its original form.
      try files.write(entry.description, pem: entry.key.privatePEM())
    } catch {
      throw RPCError(.unavailable, "the key could not be stored", reason: "SIGNING_KEY_NOT_KEPT", retryAfterMs: 5_000)
    }
    guard delivery.keys.add(entry) else {
      // A concurrent call added the last key within the limit, or revoked this one.
      files.remove(entry.id.keyID)
      throw RPCError.signingKeysExhausted
    }
  }

  /// Revokes a key permanently, with its token.
  func revoke(_ id: SigningKeyID, atMs: Int64) async throws {
    let (notifier, revision, isShared) = (delivery.notifier, revision(), store.isShared)
    try await RPCError.convertingStoreErrors {
      try await store.write { transaction in
        let key: [SQLValue] = [.text(id.teamID), .text(id.keyID)]
        try transaction.execute(SigningKeyTable.revokeSQL, key + [.integer(atMs)])
        try transaction.execute("DELETE FROM provider_tokens WHERE team_id = $1 AND key_id = $2", key)
        guard isShared else { return }
        try SigningKeyTable.remove(id, transaction)
        try DeliveryMeta.put(revision, as: DeliveryMeta.keys, transaction)
        notifier.changedKeys()
      }
    }
    delivery.keys.revoke(id)
    files.remove(id.keyID)
  }

  private func revision() -> String { String(delivery.environment.random(), radix: 16) }
}

extension RPCError {
  static func signingKeyRevoked(_ keyID: String) -> RPCError {
    RPCError(.failedPrecondition, "the key was revoked", .signingKeyRevoked, errorMetadata: ["keyId": keyID])
  }

  static var signingKeysExhausted: RPCError {
    .exhausted(
      "there are too many signing keys", .init(rawValue: "SIGNING_KEYS_EXHAUSTED"), limit: SigningKeys.countMax)
  }
}
