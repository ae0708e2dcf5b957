import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import SyncContents

/// Deletes expired data in small commits: uploads, old versions, deleted zones, messages, and unreferenced contents.
struct SyncRetention: Sendable {
  static let batchRows = 200
  static let batchesMax = 100

  static let deletedZoneSQL = "SELECT zone_no FROM deleted_zones ORDER BY zone_no LIMIT 1"
  static let dropDeletedZoneSQL = "DELETE FROM deleted_zones WHERE zone_no = $1"
  static let shrinkZoneSQL = """
    UPDATE zones SET used_bytes = used_bytes - $2, compacted_through = CASE WHEN compacted_through < $3 THEN $3 ELSE compacted_through END
    WHERE zone_no = $1 RETURNING user_id
    """
  static let shrinkUserSQL = "UPDATE users SET used_bytes = used_bytes - $2 WHERE user_id = $1"
  static let droppedSQL = """
    UPDATE users SET dropped_through = $2 WHERE user_id = $1 AND dropped_through < $2
    """

  let store: Store
  let limits: SyncLimits
  let contents: any ContentStore
  let uploadTable: OpenUploadTable

  /// Deletes everything that has expired.
  ///
  /// - Returns: The approximate number of deleted rows.
  func purge(nowMs: Int64) async throws -> Int {
    try await dropUploads(nowMs: nowMs)
      + repeated { try Self.dropVersions($0, beforeMs: nowMs - limits.historyAgeMaxMs, nowMs: nowMs) }
      + repeated(batchRows: 1) { try Self.dropZone($0, nowMs: nowMs) }
      + repeated { try Self.dropMessages($0, beforeMs: nowMs - limits.messageAgeMaxMs) }
      + dropContents(nowMs: nowMs)
  }

  private func repeated(
    batchRows: Int = Self.batchRows, _ drop: @escaping @Sendable (WriteTransaction) throws -> Int
  ) async throws -> Int {
    try await store.purge(batchRows: batchRows, batchesMax: Self.batchesMax, drop)
  }

  private func dropUploads(nowMs: Int64) async throws -> Int {
    let expired = try await store.readSingle { transaction in
      try transaction.query(UploadRow.expiredSQL, [.integer(nowMs), .int(Self.batchRows)]) { row in
        (id: try row.text(0), user: try row.text(9))
      }
    }
    var total = 0
    for upload in expired where !uploadTable.isBusy(upload.id, sinceMs: nowMs - limits.uploadIdleMaxMs) {
      let isDeleted = try await store.write { transaction -> Bool? in
        // A stream of another process may have extended it since.
        let key: [SQLValue] = [.text(upload.user), .text(upload.id)]
        let current = try transaction.queryOne(UploadRow.oneSQL, key, UploadRow.upload)
        guard let current, current.expiresAtMs < nowMs else { return current == nil ? false : nil }
        return try SQLiteSyncRepository.deleteUpload(upload.id, user: upload.user, nowMs: nowMs, transaction)
      }
      guard let isDeleted else { continue }
      if isDeleted { total += 1 }
      let (uploadTable, contents) = (uploadTable, contents)
      try await contents.run { uploadTable.discard(upload.id, contents) }
    }
    return total
  }

  private static func dropVersions(_ transaction: WriteTransaction, beforeMs: Int64, nowMs: Int64) throws -> Int {
    let old = try transaction.query(VersionRow.oldSQL, [.integer(beforeMs), .int(batchRows)]) { row in
      (zone: try row.integer(13), version: try VersionRow.version(row))
    }
    for (zone, version) in old {
      try drop(version, zone: zone, nowMs: nowMs, transaction)
      let user = try transaction.queryOne(
        shrinkZoneSQL, [.integer(zone), .integer(version.sizeBytes), .integer(version.version)]
      ) { try $0.text(0) }
      // Without a row, the zone was deleted and its bytes were already subtracted from its user.
      if let user { try transaction.execute(shrinkUserSQL, [.text(user), .integer(version.sizeBytes)]) }
    }
    return old.count
  }

  /// Deletes a batch of one deleted zone, and the zone itself with its last batch.
  ///
  /// - Returns: The number of rows that were deleted; 0 if there is no deleted zone.
  private static func dropZone(_ transaction: WriteTransaction, nowMs: Int64) throws -> Int {
    guard let zone = try transaction.queryOne(deletedZoneSQL, [], { try $0.integer(0) }) else { return 0 }
    let versions = try transaction.query(
      VersionRow.ofZoneSQL, [.integer(zone), .int(batchRows)], VersionRow.version)
    for version in versions { try drop(version, zone: zone, nowMs: nowMs, transaction) }
    let current = try transaction.executeCounting(VersionRow.dropAllCurrentSQL, [.integer(zone), .int(batchRows)])
    var zones = 0
    if versions.count < batchRows, current < batchRows {
      zones = try transaction.executeCounting(dropDeletedZoneSQL, [.integer(zone)])
    }
    return versions.count + current + zones
  }

  private static func drop(
    _ version: StoredVersion, zone: Int64, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    try transaction.execute(
      VersionRow.deleteSQL, [.integer(zone), .text(version.name), .integer(version.version)])
    try transaction.releaseContent(version.digest, nowMs: nowMs)
  }

  private static func dropMessages(_ transaction: WriteTransaction, beforeMs: Int64) throws -> Int {
    let old = try transaction.query(MessageRow.oldSQL, [.integer(beforeMs), .int(batchRows)]) { row in
      (user: try row.text(0), sequence: try row.integer(1))
    }
    var through: [String: Int64] = [:]
    for message in old { through[message.user] = max(through[message.user] ?? 0, message.sequence) }
    for (user, sequence) in through {
      try transaction.execute(MessageRow.dropSQL, [.text(user), .integer(sequence)])
      try transaction.execute(droppedSQL, [.text(user), .integer(sequence)])
    }
    return old.count
  }

  /// Deletes the rows of contents that were unreferenced for the grace time, then their files.
  private func dropContents(nowMs: Int64) async throws -> Int {
    let beforeMs = nowMs - limits.contentGraceMs
    var total = 0
    for _ in 0..<Self.batchesMax {
      let dropped = try await store.write { transaction in
        let found = try transaction.query(
          ContentTable.unreferencedSQL, [.integer(beforeMs), .int(Self.batchRows)]
        ) { try $0.digest(0) }
        for digest in found { try transaction.dropContent(digest) }
        return found
      }
      let contents = contents
      try await contents.run { contents.remove(dropped) }
      total += dropped.count
      if dropped.count < Self.batchRows { break }
    }
    return total
  }
}

extension Store {
  /// Whether a content has a row. Waits on the caller's thread, which must be one for files.
  func knowsBlocking(_ digest: SHA256Digest) throws -> Bool {
    try readSingleBlocking { transaction in
      try transaction.queryOne(ContentTable.existsSQL, [.blob(digest.bytes)]) { try $0.integer(0) } != nil
    }
  }
}
