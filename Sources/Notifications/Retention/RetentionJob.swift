import CampanileService
import CampanileStore

/// Walks the buckets that have a retention policy and permanently deletes what is due, in small commits.
///
/// A run is bounded. The next one continues where it ended, even after a restart.
struct RetentionJob: Sendable {
  let store: Store
  let notifier: CommitNotifier
  /// Deletions per commit, which bounds the time that other writes wait.
  var batchRows = 200
  /// Commits per run.
  var commitsMax = 500
  /// Buckets examined per run.
  var bucketsMax = 5_000

  private static let pageRows = 100

  init(store: Store, notifier: CommitNotifier) {
    self.store = store
    self.notifier = notifier
  }

  static let cursorSQL = "SELECT user_id, id FROM maintenance_cursors WHERE name = 'retention'"
  static let setCursorSQL = """
    INSERT INTO maintenance_cursors (name, user_id, id) VALUES ('retention', $1, $2)
    ON CONFLICT (name) DO UPDATE SET user_id = excluded.user_id, id = excluded.id
    """
  static let bucketsSQL = """
    SELECT user_id, id, max_age_days, max_count, after_read_ms, notification_count FROM buckets
    WHERE (max_age_days > 0 OR max_count > 0 OR after_read_ms > 0) AND (user_id, id) > ($1, $2)
    ORDER BY user_id, id LIMIT $3
    """
  static let bucketSQL = """
    SELECT user_id, id, max_age_days, max_count, after_read_ms, notification_count FROM buckets
    WHERE user_id = $1 AND id = $2
    """
  static let oldestSQL = """
    SELECT id FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND id < $3 ORDER BY id LIMIT $4
    """
  static let readSQL = """
    SELECT id FROM notifications
    WHERE user_id = $1 AND bucket_id = $2 AND read_at_ms IS NOT NULL AND read_at_ms <= $3 ORDER BY read_at_ms LIMIT $4
    """

  /// A bucket and its policy.
  struct Candidate: Sendable, Hashable {
    var user: String
    var bucketID: String
    var rule: RetentionRule
    var count: Int64

    init(_ row: borrowing SQLRow) throws {
      user = try row.text(0)
      bucketID = try row.text(1)
      rule = RetentionRule(
        maxAgeDays: try row.integer(2), maxCount: try row.integer(3), afterReadMs: try row.integer(4))
      count = try row.integer(5)
    }
  }

  /// Deletes what is due and returns the number of deleted notifications.
  func run(nowMs: Int64) async throws -> Int {
    var deleted = 0
    var commitsLeft = commitsMax
    var position = try await store.readSingle { transaction in
      try transaction.queryOne(Self.cursorSQL) { (try $0.text(0), try $0.text(1)) }
    }
    let start = position
    var looked = 0
    while looked < bucketsMax {
      let (user, id) = position ?? ("", "")
      let candidates = try await store.readSingle { [looked] transaction in
        try transaction.query(
          Self.bucketsSQL, [.text(user), .text(id), .int(min(Self.pageRows, bucketsMax - looked))], Candidate.init)
      }
      if candidates.isEmpty {
        // End of the table: the next run starts from the beginning.
        position = nil
        break
      }
      for candidate in candidates {
        let (count, isDone) = try await empty(candidate, nowMs: nowMs, &commitsLeft)
        deleted += count
        guard isDone else {
          try await move(from: start, to: position)
          return deleted
        }
        position = (candidate.user, candidate.bucketID)
        looked += 1
      }
    }
    try await move(from: start, to: position)
    return deleted
  }

  /// Returns the next notifications of a bucket to delete, oldest first; empty if none is due.
  static func due(
    _ candidate: Candidate, nowMs: Int64, rowsMax: Int, _ transaction: ReadTransaction
  ) throws -> [String] {
    let key: [SQLValue] = [.text(candidate.user), .text(candidate.bucketID)]
    if let bound = candidate.rule.expiredBelow(nowMs: nowMs) {
      let ids = try transaction.query(oldestSQL, key + [.text(bound), .int(rowsMax)]) { try $0.text(0) }
      if !ids.isEmpty { return ids }
    }
    let surplus = candidate.rule.surplus(of: candidate.count)
    if surplus > 0 {
      return try transaction.query(oldestSQL, key + ["n_~", .int(min(rowsMax, surplus))]) { try $0.text(0) }
    }
    if let timeMs = candidate.rule.readThroughMs(nowMs: nowMs) {
      return try transaction.query(readSQL, key + [.integer(timeMs), .int(rowsMax)]) { try $0.text(0) }
    }
    return []
  }

  private func empty(
    _ candidate: Candidate, nowMs: Int64, _ commitsLeft: inout Int
  ) async throws -> (count: Int, isDone: Bool) {
    var deleted = 0
    let rowsMax = max(1, batchRows)
    // Most buckets have nothing due, so check that without a write.
    guard try await store.read({ try !Self.due(candidate, nowMs: nowMs, rowsMax: 1, $0).isEmpty }) else {
      return (0, true)
    }
    while true {
      guard commitsLeft > 0 else { return (deleted, false) }
      commitsLeft -= 1
      let notifier = notifier
      let count = try await store.write { transaction in
        try notifier.settle(transaction)
        let key: [SQLValue] = [.text(candidate.user), .text(candidate.bucketID)]
        guard let current = try transaction.queryOne(Self.bucketSQL, key, Candidate.init) else { return 0 }
        let ids = try Self.due(current, nowMs: nowMs, rowsMax: rowsMax, transaction)
        return try transaction.deleteForGood(ids, user: current.user, atMs: nowMs, notifier)
      }
      deleted += count
      if count == 0 { return (deleted, true) }
    }
  }

  private func move(from start: (String, String)?, to position: (String, String)?) async throws {
    let (user, id) = position ?? ("", "")
    guard start?.0 ?? "" != user || start?.1 ?? "" != id else { return }
    try await store.write { try $0.execute(Self.setCursorSQL, [.text(user), .text(id)]) }
  }
}
