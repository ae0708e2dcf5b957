import CampanileStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The state of a server when a writer last asked for it.
public struct ServerCondition: Sendable, Hashable {
  public var databaseBytes: Int64
  /// Standbys that receive the log and replay it, at most `lagBytesMax` behind. Nil if the user may not see it.
  public var replayingStandbys: Int64?
  /// Bytes of the log that the slowest standby has not replayed.
  public var lagBytes: Int64
  /// Leases that have ended and that no process has taken, also those that their holder has given up.
  public var vacantLeases: Int64
  /// Time by which this machine's clock is ahead of the server's.
  public var clockSkewMs: Int64

  /// A standby further behind does not count as one that replays.
  static let lagBytesMax = 64 << 20

  static let query = """
    SELECT pg_database_size(current_database()), s.hidden, s.replaying, s.lag,
      (SELECT count(*) FROM store_leases WHERE until_ms < \(LeaseStatements.serverNowMs) AND \(StorePresence.isWork)),
      \(LeaseStatements.serverNowMs)
    FROM (
      SELECT count(*) FILTER (WHERE state IS NULL) AS hidden,
        count(*) FILTER (WHERE state = 'streaming' AND behind <= \(lagBytesMax)) AS replaying,
        coalesce(max(behind), 0) AS lag
      FROM (
        SELECT state, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::BIGINT AS behind FROM pg_stat_replication
      ) AS standbys
    ) AS s
    """

  /// Reads the answer to `query`.
  init(_ row: borrowing SQLRow) throws {
    databaseBytes = try row.integer(0)
    replayingStandbys = try row.integer(1) > 0 ? nil : row.integer(2)
    lagBytes = try row.integer(3)
    vacantLeases = try row.integer(4)
    clockSkewMs = Self.nowMs() - (try row.integer(5))
  }

  /// This machine's clock in milliseconds since 1970.
  static func nowMs() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}
