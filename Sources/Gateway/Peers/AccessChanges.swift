import CampanileStore

/// The log of changed keys and console sessions, from which each gateway on a database learns of the others' changes.
///
/// It names the changed rows only. Without other gateways, nothing is written.
struct AccessChanges: Sendable {
  /// Maximum number of entries that are read at once, and that remain in the log. Who is further behind reads
  /// everything.
  static let readMax = 1_000
  static let entriesMax: Int64 = 10_000

  private static let insertSQL = """
    INSERT INTO access_changes (revision, subject)
    SELECT coalesce(max(revision), 0) + 1, CAST($1 AS TEXT) FROM access_changes
    """
  private static let lastSQL = "SELECT coalesce(max(revision), 0) FROM access_changes"
  private static let afterSQL = """
    SELECT revision, subject FROM access_changes WHERE revision > $1 ORDER BY revision LIMIT $2
    """
  private static let purgeSQL = """
    DELETE FROM access_changes WHERE revision <= (SELECT max(revision) FROM access_changes) - $1
    """

  let peers: GatewayPeers
  let store: Store

  /// Records that a key or a session with this id has changed or was deleted. Call it in the write.
  func add(_ subject: String, in transaction: WriteTransaction) throws {
    guard store.isShared else { return }
    try transaction.execute(Self.insertSQL, [.text(subject)])
    peers.changed(GatewayPeers.access)
  }

  /// Returns the revision of the last change.
  func last() async throws -> Int64 {
    try await store.readSingle { try $0.queryOne(Self.lastSQL) { try $0.integer(0) } } ?? 0
  }

  /// Returns the ids that have changed after a revision, and the revision up to which they were read. The ids are nil
  /// if too many have changed.
  func after(_ revision: Int64) async throws -> (revision: Int64, subjects: [String]?) {
    try await store.read { transaction in
      let found = try transaction.query(Self.afterSQL, [.integer(revision), .int(Self.readMax + 1)]) { row in
        (revision: try row.integer(0), subject: try row.text(1))
      }
      guard let first = found.first, let last = found.last else { return (revision, []) }
      guard first.revision == revision + 1, found.count <= Self.readMax else {
        return (try transaction.queryOne(Self.lastSQL) { try $0.integer(0) } ?? last.revision, nil)
      }
      return (last.revision, found.map(\.subject))
    }
  }

  /// Deletes old entries.
  func purge() async throws {
    guard store.isShared else { return }
    try await store.write { try $0.execute(Self.purgeSQL, [.integer(Self.entriesMax)]) }
  }
}
