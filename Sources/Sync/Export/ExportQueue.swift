import CampanileRPC
import CampanileService
import CampanileStore

/// The users whose notifications await export, and the position in the other service's changes. Both are stored, so
/// that nothing is missed while either side is down.
struct ExportQueue: Sendable {
  /// The time within which changes are exported together.
  static let delayMs: Int64 = 200
  static let retryMsMax: Int64 = 300_000

  struct Entry: Sendable, Hashable {
    var user: String
    /// The generation of the last change. A change during the export gets a new one.
    var generation: Int64
    var attempts: Int64
  }

  let store: Store
  /// Announces additions to the process that exports.
  let alarms: AlarmSchedule
  let nowMs: @Sendable () -> Int64

  // A further change does not postpone a waiting user.
  static let putSQL = """
    INSERT INTO export_queue (user_id, generation, due_ms, attempts) VALUES ($1, $2, $3, 0)
    ON CONFLICT (user_id) DO UPDATE SET generation = excluded.generation
    """
  static let dueSQL = """
    SELECT user_id, generation, attempts FROM export_queue WHERE due_ms <= $1 ORDER BY due_ms LIMIT $2
    """
  static let nextSQL = "SELECT due_ms FROM export_queue ORDER BY due_ms LIMIT 1"
  static let doneSQL = "DELETE FROM export_queue WHERE user_id = $1 AND generation = $2"
  static let againSQL = "UPDATE export_queue SET due_ms = $2, attempts = $3 WHERE user_id = $1"
  static let tokenSQL = "SELECT value FROM sync_meta WHERE name = 'export.token'"
  static let setTokenSQL = """
    INSERT INTO sync_meta (name, value) VALUES ('export.token', $1)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """

  /// Returns the token to resume the changes from; empty if all users must be listed first.
  func token() async throws -> String {
    try await store.readSingle { try $0.queryOne(Self.tokenSQL) { try $0.text(0) } } ?? ""
  }

  /// Adds users, and stores the position in the changes unless `token` is nil.
  func add(_ users: [String], token: String?) async throws {
    let dueMs = nowMs() + Self.delayMs
    let (alarms, isAnnounced) = (alarms, store.isShared && !users.isEmpty)
    try await store.write { transaction in
      if isAnnounced { alarms.scheduled(dueMs) }
      let generation = try transaction.next("generation")
      for user in users {
        try transaction.execute(Self.putSQL, [.text(user), .integer(generation), .integer(dueMs)])
      }
      if let token { try transaction.execute(Self.setTokenSQL, [.text(token)]) }
    }
  }

  func due(countMax: Int) async throws -> [Entry] {
    try await store.readSingle { transaction in
      try transaction.query(Self.dueSQL, [.integer(nowMs()), .int(countMax)]) { row in
        Entry(user: try row.text(0), generation: try row.integer(1), attempts: try row.integer(2))
      }
    }
  }

  /// Returns the time at which the next user is due; nil if the queue is empty.
  func nextDueMs() async throws -> Int64? {
    try await store.readSingle { try $0.queryOne(Self.nextSQL) { try $0.integer(0) } }
  }

  /// Removes an exported user. If something has changed in the meantime, schedules the user again after the delay.
  func settle(_ entry: Entry) async throws {
    let dueMs = nowMs() + Self.delayMs
    try await store.write { transaction in
      if try transaction.executeCounting(Self.doneSQL, [.text(entry.user), .integer(entry.generation)]) == 0 {
        try transaction.execute(Self.againSQL, [.text(entry.user), .integer(dueMs), 0])
      }
    }
  }

  /// Schedules a failed export again, after a delay that doubles.
  func retry(_ entry: Entry) async throws {
    let attempts = entry.attempts + 1
    let pauseMs = min(500 << min(attempts, 10), Self.retryMsMax)
    let dueMs = nowMs() + pauseMs
    try await store.write { transaction in
      _ = try transaction.executeCounting(Self.againSQL, [.text(entry.user), .integer(dueMs), .integer(attempts)])
    }
  }
}
