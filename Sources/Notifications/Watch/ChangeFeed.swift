import CampanileRPC
import CampanileService
import CampanileStore

/// The whole change log for one other service, which takes it in order from a cursor kept beside it: the outbox of this
/// service. Delivery is at least once: what was read and not acknowledged is read again.
struct ChangeFeed: Sendable {
  /// One change with its owner.
  struct Entry: Sendable, Hashable {
    var user: String
    var change: Change
    /// The trace of the call that made it, as `TraceContext.text`; of alerts that were recorded.
    var trace: String?
  }

  /// Names the receiver, for example `sync`.
  let name: String
  private let store: Store

  static let lowestSQL = ChangeLogTable.cursorsSQL
  static let cursorSQL = "SELECT sequence FROM change_cursors WHERE feed = $1"
  static let entriesSQL = """
    SELECT \(ChangeLog.columns), user_id, trace FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
    """

  /// Opens the feed at its cursor; a new one begins with the next change.
  init(_ name: String, store: Store) async throws {
    self.name = name
    self.store = store
    _ = try await store.write { transaction in
      let last = try transaction.queryOne(ChangeLog.lastSQL) { try $0.integer(0) } ?? 0
      try transaction.execute(
        "INSERT INTO change_cursors (feed, sequence) VALUES ($1, $2) ON CONFLICT (feed) DO NOTHING",
        [.text(name), .integer(last)])
    }
  }

  /// The next changes, oldest first.
  ///
  /// Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`, when the log was cut behind the cursor: the receiver reads everything
  /// anew and acknowledges `lastSequence`.
  func next(rowsMax: Int) throws -> [Entry] {
    try store.read { transaction in
      let cursor = try transaction.queryOne(Self.cursorSQL, [.text(name)]) { try $0.integer(0) } ?? 0
      let first = try transaction.queryOne(ChangeLog.firstSQL) { try $0.integer(0) } ?? 0
      guard first <= cursor + 1 else {
        throw RPCError(.outOfRange, "the log begins behind the feed's cursor", reason: Reason.tokenTooOld.rawValue)
      }
      let entries = try transaction.query(
        Self.entriesSQL, [.integer(cursor), .int(rowsMax)], rowsMax: max(0, rowsMax)
      ) { row in
        Entry(user: try row.text(8), change: try ChangeLog.change(row), trace: try row.textIfPresent(9))
      }
      return try entries.map { entry in
        Entry(
          user: entry.user, change: try entry.change.completed(user: entry.user, transaction), trace: entry.trace)
      }
    }
  }

  /// The newest change of the log.
  func lastSequence() throws -> Int64 {
    try store.readSingle { try $0.queryOne(ChangeLog.lastSQL) { try $0.integer(0) } ?? 0 }
  }

  /// Notes that everything through `sequence` was taken. The cursor never goes back.
  func acknowledge(through sequence: Int64) async throws {
    let name = name
    _ = try await store.write { transaction in
      try transaction.execute(
        "UPDATE change_cursors SET sequence = $1 WHERE feed = $2 AND sequence < $1", [.integer(sequence), .text(name)])
    }
  }
}
