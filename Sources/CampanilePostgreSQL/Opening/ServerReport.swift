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
    /// Whether it receives the log and is not far behind; see `ServerCondition.replayingStandbys`.
    public var isReplaying: Bool { state == "streaming" && lagBytes <= ServerCondition.lagBytesMax }

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
  /// Work whose process has vanished without another one taking it over, and for how many milliseconds.
  public var vacancies: [Vacancy]
  /// Time by which this machine's clock is ahead of the server's.
  public var clockSkewMs: Int64

  /// A lease that no process holds although its last holder has not given it up.
  public struct Vacancy: Sendable, Hashable {
    public var name: String
    public var sinceMs: Int64

    public init(name: String, sinceMs: Int64) {
      self.name = name
      self.sinceMs = sinceMs
    }
  }
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

  private static let clockQuery = "SELECT \(LeaseStatements.serverNowMs)"
  // A process that stops sets the end to 0.
  private static let vacanciesQuery = """
    SELECT name, \(LeaseStatements.serverNowMs) - until_ms FROM store_leases
    WHERE until_ms > 0 AND until_ms < \(LeaseStatements.serverNowMs) AND \(StorePresence.isWork) ORDER BY name
    """

  /// Checks the server and its database as opening a store does, and reports their state. Changes nothing.
  public func report() throws(StoreError) -> ServerReport {
    let session = try opener.open(.reader)
    defer { session.finish() }
    var report = ServerReport(version: "", databaseBytes: 0, standbys: [], vacancies: [], clockSkewMs: 0)
    do {
      var hasTables = false
      try session.ask(ServerCheck.query) { hasTables = try ServerCheck.checkDatabase($0, opener.address) }
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
      try session.ask(Self.clockQuery) { report.clockSkewMs = ServerCondition.nowMs() - (try $0.integer(0)) }
      if hasTables {
        try session.ask(Self.vacanciesQuery) { row in
          report.vacancies.append(.init(name: try row.text(0), sinceMs: try row.integer(1)))
        }
      }
    } catch {
      throw .from(error, path: place)
    }
    return report
  }
}
