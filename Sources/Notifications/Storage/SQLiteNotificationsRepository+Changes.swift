import CampanileAPI
import CampanileRPC
import CampanileStore

extension SQLiteNotificationsRepository {
  func lastSequence() throws -> Int64 {
    try store.readSingle { tx in
      try tx.queryOne("SELECT MAX(sequence) FROM changes") { try $0.integerIfPresent(0) ?? 0 }
    } ?? 0
  }

  func changes(user: String, after sequence: Int64, limit: Int) throws -> [StoredChange] {
    try store.read { tx in
      let compacted = try Self.compactedThrough(tx)
      guard sequence >= compacted else {
        throw RPCError(
          .outOfRange, "changes after this token are no longer kept: read everything anew and watch from now on",
          reason: "TOKEN_TOO_OLD", errorMetadata: ["field": "resume_token"])
      }
      return try tx.query(
        "SELECT sequence, bucket_id, event FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
        [.text(user), .integer(sequence), .int(limit)]
      ) { row in
        StoredChange(
          sequence: try row.integer(0), bucketID: try row.text(1),
          event: try row.withBytes(2) { try Records.decode($0) })
      }
    }
  }

  private static func compactedThrough(_ tx: ReadTransaction) throws -> Int64 {
    try tx.queryOne("SELECT value FROM notifications_state WHERE name = 'compacted'") { Int64(try $0.text(0)) ?? 0 }
      ?? 0
  }

  /// Keeps the newest change always: the next one's number follows from it.
  func compactChanges(batch: Int) async throws -> Int {
    try await store.write { [nowMs, limits] tx in
      let newest = try tx.queryOne("SELECT MAX(sequence) FROM changes") { try $0.integerIfPresent(0) ?? 0 } ?? 0
      let oldest = try tx.queryOne("SELECT MIN(sequence) FROM changes") { try $0.integerIfPresent(0) ?? 0 } ?? 0
      let keepFrom = newest - Int64(limits.changesMax) + 1
      let before = nowMs() - limits.changeAgeMsMax
      var through = min(keepFrom - 1, newest - 1)
      if through < oldest {
        // By age: the log is in the order of time, so a look at the oldest batch tells.
        through =
          try tx.query(
            "SELECT sequence, at_ms FROM changes ORDER BY sequence LIMIT $1", [.int(batch)]
          ) { (sequence: try $0.integer(0), atMs: try $0.integer(1)) }
          .prefix { $0.atMs < before && $0.sequence < newest }.last?.sequence ?? 0
      }
      through = min(through, oldest + Int64(batch) - 1)
      guard oldest > 0, through >= oldest else { return 0 }
      try tx.execute(
        """
        INSERT INTO notifications_state (name, value) VALUES ('compacted', $1)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """, [.text(String(through))])
      return try tx.execute("DELETE FROM changes WHERE sequence <= $1", [.integer(through)])
    }
  }
}
