import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  func commit(
    _ draft: CommitDraft, user: String, repeatable: RepeatableRequest?
  ) async throws -> CommitAssetsResponse {
    try await storeWrite { transaction in
      if let reply = try replayed(CommitAssetsResponse.self, repeatable, transaction) { return reply }
      if !draft.device.isEmpty { try Self.requireWriter(draft.device, user: user, transaction) }
      let nowMs = clockMs()
      var counters = try transaction.syncUser(user)
      var zone = try Self.zone(draft.zone, user: user, transaction)
      if zone.number == 0 { zone = try makeZone(draft.zone, user: user, &counters, nowMs: nowMs, transaction) }
      var ledger = CommitLedger(
        draft, zone: zone, counters: counters, user: user, limits: limits, nowMs: nowMs, transaction)
      try ledger.run()
      try ledger.finish()
      counters = ledger.counters
      if draft.device.isEmpty {
        try announce(revision: ledger.zone.revision, user: user, &counters, nowMs: nowMs, transaction)
      }
      try transaction.put(counters, user: user)
      board.changed(user)
      let reply = response(ledger)
      try keep(reply, repeatable, transaction)
      return reply
    }
  }

  func repeated(_ repeatable: RepeatableRequest?) async throws -> CommitAssetsResponse? {
    guard let repeatable else { return nil }
    return try await storeWrite { try replayed(CommitAssetsResponse.self, repeatable, $0) }
  }

  private func response(_ ledger: CommitLedger) -> CommitAssetsResponse {
    .with {
      $0.revision = ledger.zone.revision
      $0.results = ledger.results
      $0.storage = StorageUse(
        usedBytes: ledger.zone.usedBytes, limitBytes: limits.zoneBytesMax, limits: limits)
      $0.userStorage = StorageUse(
        usedBytes: ledger.counters.usedBytes, limitBytes: limits.userBytesMax, limits: limits)
      $0.resumeToken = ZonePosition(epoch: epoch, zone: ledger.zone.number, revision: ledger.zone.revision)
        .text(user: ledger.user)
    }
  }

  func resolveConflict(
    _ version: Int64, of name: String, zone zoneName: String, device: String, user: String
  ) async throws {
    try await storeWrite { transaction in
      try Self.requireWriter(device, user: user, transaction)
      let zone = try Self.zone(zoneName, user: user, transaction)
      let key: [SQLValue] = [.integer(zone.number), .text(name), .integer(version)]
      guard try transaction.queryOne(VersionRow.oneSQL, key, VersionRow.version) != nil else {
        throw RPCError.versionNotFound(version)
      }
      try transaction.execute(VersionRow.resolveSQL, key)
    }
  }
}
