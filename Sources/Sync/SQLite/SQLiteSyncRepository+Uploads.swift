import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  func createUpload(
    _ upload: StoredUpload, device: String, user: String, idempotency: IdempotentRequest?
  ) async throws -> Upload {
    try await storeWrite { transaction in
      if let reply = try storedReply(Upload.self, idempotency, transaction) { return reply }
      try Self.requireWriter(device, user: user, transaction)
      let zone = try Self.zone(upload.zone, user: user, transaction)
      var counters = try transaction.syncUser(user)
      let taken = try transaction.next("uploads") - 1
      try SharedLimit(total: limits.uploadsMax, perUser: limits.uploadsPerUserMax).check(
        held: Int(counters.uploadCount), taken: Int(taken), of: "open uploads", .uploadsExhausted)
      // Old versions may be deleted later to make room. Reject now what cannot fit even then.
      try checkFits(upload.sizeBytes, zone, counters, transaction)
      counters.uploadCount += 1
      try transaction.put(counters, user: user)
      try transaction.execute(UploadRow.insertSQL, UploadRow.inserting(upload, user: user))
      let message = upload.message(receivedBytes: 0, hash: "")
      try storeReply(message, idempotency, transaction)
      return message
    }
  }

  private func checkFits(
    _ sizeBytes: Int64, _ zone: StoredZone, _ counters: StoredUser, _ transaction: ReadTransaction
  ) throws {
    let excess = max(
      zone.usedBytes + sizeBytes - limits.zoneBytesMax, counters.usedBytes + sizeBytes - limits.userBytesMax)
    guard excess > 0 else { return }
    let history = try transaction.query(
      VersionRow.evictableSQL, [.integer(zone.number), .int(1_000)], VersionRow.version)
    guard history.reduce(0, { $0 + $1.sizeBytes }) < excess else { return }
    let isZone = zone.usedBytes - limits.zoneBytesMax >= counters.usedBytes - limits.userBytesMax
    throw RPCError.quotaExceeded(
      isZone ? "zone" : "user", used: isZone ? zone.usedBytes : counters.usedBytes, wanted: sizeBytes,
      limit: isZone ? limits.zoneBytesMax : limits.userBytesMax)
  }

  func upload(_ id: String, user: String) async throws -> StoredUpload {
    try await readSingle { try upload(id, user: user, $0) }
  }

  func uploadBlocking(_ id: String, user: String) throws -> StoredUpload {
    try readSingleBlocking { try upload(id, user: user, $0) }
  }

  private func upload(_ id: String, user: String, _ transaction: ReadTransaction) throws -> StoredUpload {
    let upload = try transaction.queryOne(UploadRow.oneSQL, [.text(user), .text(id)], UploadRow.upload)
    // An expired upload does not exist any more, whether or not it was purged.
    guard let upload, upload.expiresAtMs > clockMs() else { throw RPCError.uploadNotFound(id) }
    return upload
  }

  func takeUploadBlocking(_ id: String, user: String) throws -> StoredUpload {
    try RPCError.convertingStoreErrors {
      try store.writeBlocking { transaction in
        try transaction.execute(UploadRow.takeSQL, [.text(user), .text(id)])
        return try upload(id, user: user, transaction)
      }
    }
  }

  func completeUpload(
    _ id: String, _ summary: ContentSummary, epoch: Int64, user: String
  ) async throws -> StoredUpload {
    try await storeWrite { transaction in
      let expiresAtMs = clockMs() + limits.uploadIdleMaxMs
      let count = try transaction.executeCounting(
        UploadRow.completeSQL,
        [.text(user), .text(id), .text(UploadRow.json(summary)), .integer(expiresAtMs), .integer(epoch)])
      let upload = try transaction.queryOne(UploadRow.oneSQL, [.text(user), .text(id)], UploadRow.upload)
      guard let upload, count == 1 || upload.epoch != epoch else { throw RPCError.uploadNotFound(id) }
      guard upload.epoch == epoch else { throw RPCError.uploadTaken }
      try transaction.addContent(summary)
      return upload
    }
  }

  func touchUpload(_ id: String, user: String) async throws {
    let expiresAtMs = clockMs() + limits.uploadIdleMaxMs
    try await storeWrite { transaction in
      _ = try transaction.executeCounting(UploadRow.touchSQL, [.text(user), .text(id), .integer(expiresAtMs)])
    }
  }

  func deleteUpload(_ id: String, user: String) async throws -> Bool {
    let nowMs = clockMs()
    return try await storeWrite { transaction in
      try Self.deleteUpload(id, user: user, nowMs: nowMs, transaction)
    }
  }

  static func deleteUpload(
    _ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction
  ) throws -> Bool {
    let found = try transaction.queryOne(UploadRow.oneSQL, [.text(user), .text(id)], UploadRow.upload)
    guard let upload = found else { return false }
    try transaction.execute(UploadRow.deleteSQL, [.text(user), .text(id)])
    try transaction.releaseContent(upload.summary?.digest, nowMs: nowMs)
    var counters = try transaction.syncUser(user)
    counters.uploadCount -= 1
    try transaction.put(counters, user: user)
    try transaction.add(-1, to: "uploads")
    return true
  }
}
