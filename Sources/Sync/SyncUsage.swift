import CampanileService
import CampanileStore

/// Storage figures for metrics.
public struct SyncUsage: Sendable, Hashable {
  /// Users and zones that have reached the warning level of their quotas.
  public var usersWarned = 0
  public var zonesWarned = 0
  /// The total size of the content files.
  public var storedBytes = 0
  public var openUploads = 0
  /// Users whose export is overdue: it has failed, or the service cannot keep up.
  public var overdueExports = 0
}

extension SyncComponent {
  private static let overdueAgeMs: Int64 = 60_000
  static let usersWarnedSQL = "SELECT count(*) FROM users WHERE used_bytes >= $1"
  static let zonesWarnedSQL = "SELECT count(*) FROM zones WHERE used_bytes >= $1"
  static let storedSQL = "SELECT value FROM counters WHERE name = 'stored'"
  static let uploadsSQL = "SELECT value FROM counters WHERE name = 'uploads'"

  static let overdueSQL = "SELECT count(*) FROM export_queue WHERE attempts > 0 OR due_ms < $1"

  /// Reads the current figures.
  public func usage() async throws -> SyncUsage {
    let overdueMs = repository.clockMs() - Self.overdueAgeMs
    let limits = repository.limits
    return try await store.read { transaction in
      func count(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int {
        Int(try transaction.queryOne(sql, arguments) { try $0.integer(0) } ?? 0)
      }
      let percent = limits.quotaWarningPercent
      return SyncUsage(
        usersWarned: try count(Self.usersWarnedSQL, [.integer(limits.userBytesMax / 100 * percent)]),
        zonesWarned: try count(Self.zonesWarnedSQL, [.integer(limits.zoneBytesMax / 100 * percent)]),
        storedBytes: try count(Self.storedSQL), openUploads: try count(Self.uploadsSQL),
        overdueExports: try count(Self.overdueSQL, [.integer(overdueMs)]))
    }
  }
}
