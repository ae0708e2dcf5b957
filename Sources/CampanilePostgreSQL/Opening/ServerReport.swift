public import CampanileStore

/// The state of a server and its database.
public struct ServerReport: Sendable, Hashable {
  /// A standby that receives the server's log.
  public struct Standby: Sendable, Hashable {
    public var name: String
    /// `streaming` if it keeps up; nil if the user may not see it.
    public var state: String?
    /// Whether commits wait for it.
    public var isSynchronous: Bool
    /// Bytes of the log that it has not replayed.
    public var lagBytes: Int64

    public init(name: String, state: String?, isSynchronous: Bool, lagBytes: Int64) {
      self.name = name
      self.state = state
      self.isSynchronous = isSynchronous
      self.lagBytes = lagBytes
    }
  }

  public var version: String
  public var databaseBytes: Int64
  public var standbys: [Standby]
}

extension PostgreSQLEngine {
  private static let databaseQuery = """
    SELECT current_setting('server_version'), pg_database_size(current_database())
    """
  private static let standbysQuery = """
    SELECT application_name, state, coalesce(sync_state IN ('sync', 'quorum'), false),
      coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint
    FROM pg_stat_replication ORDER BY application_name
    """

  /// Checks the server and its database as opening a store does, and reports their state. Changes nothing.
  public func report() throws(StoreError) -> ServerReport {
    let session = try opener.open(.reader)
    defer { session.finish() }
    var report = ServerReport(version: "", databaseBytes: 0, standbys: [])
    do {
      try session.ask(ServerCheck.query) { _ = try ServerCheck.checkDatabase($0, opener.address) }
      try session.ask(Self.databaseQuery) { row in
        report.version = try row.text(0)
        report.databaseBytes = try row.integer(1)
      }
      try session.ask(Self.standbysQuery) { row in
        report.standbys.append(
          .init(
            name: try row.text(0), state: try row.textIfPresent(1), isSynchronous: try row.bool(2),
            lagBytes: try row.integer(3)))
      }
    } catch {
      throw .from(error, path: place)
    }
    return report
  }
}
