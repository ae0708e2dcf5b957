import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  func commit(
    _ draft: CommitDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse {
    let reply: CommitAssetsResponse = try await storeWrite { transaction in
      if let reply = try storedReply(CommitAssetsResponse.self, idempotency, transaction) { return reply }
      if !draft.device.isEmpty { try Self.requireWriter(draft.device, user: user, transaction) }
      let nowMs = clockMs()
      var counters = try transaction.syncUser(user)
      var zone = try Self.zone(draft.zone, user: user, transaction)
      if draft.export != nil, !zone.exportsNotifications { throw ExportEnded() }
      if zone.number == 0 { zone = try makeZone(draft.zone, user: user, &counters, nowMs: nowMs, transaction) }
      var commitWriter = CommitWriter(
        draft, zone: zone, counters: counters, user: user, limits: limits, nowMs: nowMs, transaction)
      try commitWriter.run()
      try commitWriter.finish()
      counters = commitWriter.counters
      if let export = draft.export { try announce(export, user: user, &counters, nowMs: nowMs, transaction) }
      if wakesDevices {
        try WakePlanner(transaction: transaction, user: user, nowMs: nowMs, notifier: notifier)
          .wake(zone: draft.zone, changed: commitWriter.changed, author: draft.device)
      }
      try transaction.put(counters, user: user)
      notifier.changed(user)
      let reply = response(commitWriter)
      try storeReply(reply, idempotency, transaction)
      return reply
    }
    for case .asset(let asset) in reply.results.map(\.outcome) where ContentCheck.isContainer(asset.recordType) {
      events(.file(recordType: asset.recordType, sizeBytes: asset.sizeBytes))
    }
    return reply
  }

  func storedCommit(_ idempotency: IdempotentRequest?) async throws -> CommitAssetsResponse? {
    guard let idempotency else { return nil }
    return try await storeWrite { try storedReply(CommitAssetsResponse.self, idempotency, $0) }
  }

  private func response(_ commitWriter: CommitWriter) -> CommitAssetsResponse {
    CommitAssetsResponse(
      revision: commitWriter.zone.revision, results: commitWriter.results,
      storage: StorageUse(usedBytes: commitWriter.zone.usedBytes, limitBytes: limits.zoneBytesMax, limits: limits),
      userStorage: StorageUse(
        usedBytes: commitWriter.counters.usedBytes, limitBytes: limits.userBytesMax, limits: limits),
      resumeToken: ZonePosition(epoch: epoch, zone: commitWriter.zone.number, revision: commitWriter.zone.revision)
        .text(user: commitWriter.user), exportEnded: isExporting && commitWriter.endsExport)
  }

  func resolveConflict(
    _ version: Int64, of name: String, zone zoneName: String, device: String, user: String
  ) async throws {
    try await storeWrite { transaction in
      try Self.requireWriter(device, user: user, transaction)
      let zone = try Self.zone(zoneName, user: user, transaction)
      let name = try transaction.assetName(name, in: zone)
      let key: [SQLValue] = [.integer(zone.number), .text(name), .integer(version)]
      guard try transaction.queryOne(VersionRow.oneSQL, key, VersionRow.version) != nil else {
        throw RPCError.versionNotFound(version)
      }
      try transaction.execute(VersionRow.resolveSQL, key)
    }
  }
}
