import CampanileService
import CampanileStore

/// Deletes rows that are no longer needed: retired tokens, idle tokens, and activities that ended long ago.
struct ActivityRetention: Sendable {
  static let batchRows = 200
  static let batchesMax = 100
  /// Time during which a repeated alert is recognised.
  static let alertRetentionMs: Int64 = 7 * 24 * 3_600_000
  /// Time that a retired token is retained, so that its owner can see why pushes stopped.
  static let retiredRetentionMs: Int64 = 7 * 24 * 3_600_000

  static let retiredSQL = """
    DELETE FROM push_tokens WHERE token_id IN (
      SELECT token_id FROM push_tokens WHERE retired_at_ms IS NOT NULL AND retired_at_ms < $1
      ORDER BY retired_at_ms LIMIT $2)
    """
  static let idleSQL = "SELECT token_id, user_id FROM push_tokens WHERE used_at_ms < $1 ORDER BY used_at_ms LIMIT $2"
  static let deleteTokenSQL = "DELETE FROM push_tokens WHERE token_id = $1 AND state = 1"
  static let deleteAnyTokenSQL = "DELETE FROM push_tokens WHERE token_id = $1"
  static let countSQL = "UPDATE users SET token_count = token_count - 1 WHERE user_id = $1 AND token_count > 0"
  static let endedSQL = """
    SELECT user_id, id FROM activities WHERE ended_at_ms IS NOT NULL AND ended_at_ms < $1 ORDER BY ended_at_ms LIMIT $2
    """
  static let deleteActivitySQL = "DELETE FROM activities WHERE user_id = $1 AND id = $2"
  static let deleteStartSQL = "DELETE FROM activity_starts WHERE user_id = $1 AND id = $2"

  let store: Store
  let limits: ActivitiesLimits

  /// Deletes expired rows in bounded batches and returns their number.
  func purge(nowMs: Int64) async throws -> Int {
    let retiredMs = nowMs - Self.retiredRetentionMs
    let idleMs = nowMs - limits.tokenIdleMsMax
    let endedMs = nowMs - limits.endedAgeMsMax
    return try await repeated {
      try $0.executeCounting(Self.retiredSQL, [.integer(retiredMs), .int(Self.batchRows)])
    }
      + repeated {
        try $0.executeCounting(
          AlertReports.expiredSQL, [.integer(nowMs - Self.alertRetentionMs), .int(Self.batchRows)])
      }
      + repeated { try Self.dropIdle($0, beforeMs: idleMs) } + repeated { try Self.dropEnded($0, beforeMs: endedMs) }
  }

  private func repeated(_ drop: @escaping @Sendable (WriteTransaction) throws -> Int) async throws -> Int {
    try await store.purge(batchRows: Self.batchRows, batchesMax: Self.batchesMax, drop)
  }

  /// Deletes idle tokens. An idle update token belongs to an activity that ended long before, so no activity refers to
  /// it.
  private static func dropIdle(_ transaction: WriteTransaction, beforeMs: Int64) throws -> Int {
    let idle = try transaction.query(idleSQL, [.integer(beforeMs), .int(batchRows)]) { row in
      (id: try row.text(0), user: try row.text(1))
    }
    for token in idle {
      if try transaction.executeCounting(deleteTokenSQL, [.text(token.id)]) > 0 {
        try transaction.execute(countSQL, [.text(token.user)])
      } else {
        try transaction.execute(deleteAnyTokenSQL, [.text(token.id)])
      }
    }
    return idle.count
  }

  private static func dropEnded(_ transaction: WriteTransaction, beforeMs: Int64) throws -> Int {
    let ended = try transaction.query(endedSQL, [.integer(beforeMs), .int(batchRows)]) { row in
      [SQLValue.text(try row.text(0)), .text(try row.text(1))]
    }
    for key in ended {
      try transaction.execute(deleteActivitySQL, key)
      try transaction.execute(deleteStartSQL, key)
    }
    return ended.count
  }
}
