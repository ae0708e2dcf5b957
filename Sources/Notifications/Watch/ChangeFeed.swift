import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The whole change log as a feed for one other service, in order and from a durable cursor: the outbox of this
/// service.
///
/// Delivery is at least once: changes that were read but not acknowledged are read again.
struct ChangeFeed: Sendable {
  /// A change and its user.
  struct Entry: Sendable, Hashable {
    var user: String
    var change: LoggedChange
    /// The trace of the call that caused the change, as `TraceContext.text`. Set only for alerts of sampled calls.
    var trace: String?
  }

  /// The name of the receiver, for example `sync`.
  let name: String
  private let store: Store

  static let cursorSQL = "SELECT sequence FROM change_cursors WHERE feed = $1"
  static let entriesSQL = """
    SELECT \(NotificationChangeLog.columns), user_id, trace FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
    """

  /// Opens the feed at its cursor. A new feed starts with the next change.
  init(_ name: String, store: Store) async throws {
    self.name = name
    self.store = store
    try await store.write { transaction in
      let last = try transaction.queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0
      try transaction.execute(
        "INSERT INTO change_cursors (feed, sequence) VALUES ($1, $2) ON CONFLICT (feed) DO NOTHING",
        [.text(name), .integer(last)])
    }
  }

  /// Returns the next changes, oldest first.
  ///
  /// - Throws: OUT_OF_RANGE, reason `TOKEN_TOO_OLD`, if the log was truncated beyond the cursor. The receiver must then
  ///   read everything again and acknowledge `lastSequence`.
  func next(rowsMax: Int) async throws -> [Entry] {
    try await store.read { transaction in
      let cursor = try transaction.queryOne(Self.cursorSQL, [.text(name)]) { try $0.integer(0) } ?? 0
      let first = try transaction.queryOne(NotificationChangeLog.firstSQL) { try $0.integer(0) } ?? 0
      guard first <= cursor + 1 else {
        throw RPCError(.outOfRange, "the log begins after the feed's cursor", .tokenTooOld)
      }
      let entries = try transaction.query(
        Self.entriesSQL, [.integer(cursor), .int(rowsMax)], rowsMax: max(0, rowsMax)
      ) { row in
        Entry(user: try row.text(7), change: try NotificationChangeLog.change(row), trace: try row.textIfPresent(8))
      }
      return try entries.map { entry in
        Entry(
          user: entry.user, change: try entry.change.completed(user: entry.user, transaction), trace: entry.trace)
      }
    }
  }

  /// The sequence of the latest change.
  func lastSequence() async throws -> Int64 {
    try await store.readSingle { try $0.queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0 }
  }

  /// Records that everything through `sequence` was processed. The cursor never moves back.
  func acknowledge(through sequence: Int64) async throws {
    let name = name
    try await store.write { transaction in
      try transaction.execute(
        "UPDATE change_cursors SET sequence = $1 WHERE feed = $2 AND sequence < $1", [.integer(sequence), .text(name)])
    }
  }
}
