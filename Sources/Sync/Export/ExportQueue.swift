import CampanileRPC
import CampanileService
import CampanileStore

/// Whose notifications are to be written into files, and how far the other service's changes were followed. Both are kept, so
/// that nothing is missed while either side is away.
struct ExportQueue: Sendable {
  /// Changes that come within it are written together.
  static let delayMs: Int64 = 200
  static let retryMsMax: Int64 = 300_000

  struct Entry: Sendable, Hashable {
    var user: String
    /// Of the last change; one that comes while the files are written is another.
    var generation: Int64
    var attempts: Int64
  }

  let store: Store
  let nowMs: @Sendable () -> Int64

  // Who waits already does not wait longer for one more change.
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

  /// Where to follow the changes from; empty at first.
  func token() throws -> String {
    try store.readSingle { try $0.queryOne(Self.tokenSQL) { try $0.text(0) } } ?? ""
  }

  /// Notes users, and with them how far the changes were followed unless `token` is nil.
  func add(_ users: [String], token: String?) async throws {
    let dueMs = nowMs() + Self.delayMs
    try await store.write { transaction in
      let generation = try transaction.bump(counter: "generation")
      for user in users {
        try transaction.execute(Self.putSQL, [.text(user), .integer(generation), .integer(dueMs)])
      }
      if let token { try transaction.execute(Self.setTokenSQL, [.text(token)]) }
    }
  }

  func due(countMax: Int) throws -> [Entry] {
    try store.readSingle { transaction in
      try transaction.query(Self.dueSQL, [.integer(nowMs()), .int(countMax)]) { row in
        Entry(user: try row.text(0), generation: try row.integer(1), attempts: try row.integer(2))
      }
    }
  }

  /// When the next is due; nil when nobody waits.
  func nextDueMs() throws -> Int64? {
    try store.readSingle { try $0.queryOne(Self.nextSQL) { try $0.integer(0) } }
  }

  /// Done, unless something has changed meanwhile: then again after the delay.
  func settle(_ entry: Entry) async throws {
    let dueMs = nowMs() + Self.delayMs
    try await store.write { transaction in
      if try transaction.execute(Self.doneSQL, [.text(entry.user), .integer(entry.generation)]) == 0 {
        try transaction.execute(Self.againSQL, [.text(entry.user), .integer(dueMs), 0])
      }
    }
  }

  /// It failed: again after a pause that doubles.
  func retry(_ entry: Entry) async throws {
    let attempts = entry.attempts + 1
    let pauseMs = min(500 << min(attempts, 10), Self.retryMsMax)
    let dueMs = nowMs() + pauseMs
    try await store.write { transaction in
      _ = try transaction.execute(Self.againSQL, [.text(entry.user), .integer(dueMs), .integer(attempts)])
    }
  }
}
