import Foundation

/// Shows the other processes on a database that this one is alive.
///
/// It is a lease under a name of the process's own. Rows of a service name their process, and count only while it is
/// alive. It ends with the process's session, and 10 s after the loss of its machine.
package struct StorePresence: Sendable {
  /// Unique to this process.
  package let name = StorePresence.namePrefix + UUID().uuidString
  private let store: Store

  private static let namePrefix = "process-"
  /// The condition that a row of `store_leases` is of a kind of work, which some process should hold.
  package static let isWork = "name NOT LIKE '\(namePrefix)%'"
  private static let retentionMs: Int64 = 60_000
  private static let nowMs = LeaseStatements.serverNowMs
  /// The condition that the process with the lease `l` is alive. PostgreSQL's.
  private static let isLive = """
    l.until_ms >= \(nowMs) AND EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = l.backend)
    """
  private static let purgeSQL = """
    DELETE FROM store_leases WHERE name LIKE '\(namePrefix)%' AND until_ms < \(nowMs) - $1
    """

  package init(_ store: Store) { self.store = store }

  /// Returns the condition that the process with the name in a column is alive. PostgreSQL's.
  package static func isAlive(_ column: String) -> String {
    """
    EXISTS (SELECT 1 FROM store_leases AS l WHERE l.name = \(column) AND \(isLive))
    """
  }

  /// Returns the number of leases that processes hold which are alive. PostgreSQL's.
  static func liveLeases(_ connection: any StoreConnection) throws -> Int64 {
    try connection.integer("SELECT count(*) FROM store_leases AS l WHERE \(isLive)") ?? 0
  }

  /// Keeps the process's lease until the task is cancelled. Returns at once on SQLite.
  package func run() async {
    guard store.isShared else { return }
    await store.whileHolding(name) {
      while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
    }
  }

  /// Deletes the rows of processes that have ended.
  package func purge() async throws {
    guard store.isShared else { return }
    try await store.write { try $0.execute(Self.purgeSQL, [.integer(Self.retentionMs)]) }
  }
}
