public import CampanileStore
import Synchronization

/// PostgreSQL 15 or newer as the engine of a store.
///
/// Several processes may use one database: each writing transaction begins by locking the row of its lane.
public struct PostgreSQLEngine: Sendable {
  let opener: SessionOpener

  /// Creates an engine for the server named by a setting.
  ///
  /// - Parameters:
  ///   - text: An address (`postgresql://user@host1,host2:5432/database?sslmode=verify-full`), or the path of a file
  ///     that contains one, optionally after `file:`.
  ///   - setting: The setting's name, for messages.
  ///   - defaultDatabase: The database if the address names none.
  /// - Throws: `invalidArgument` for an address that cannot be used, or contains a password. Passwords are read from
  ///   `~/.pgpass`, from the `passfile` that the address names, or from an address file that only its owner can read.
  public init(
    _ text: String, setting: String = "--store", defaultDatabase: String? = nil,
    limits: PostgreSQLLimits = PostgreSQLLimits()
  ) throws(StoreError) {
    let address: ServerAddress
    if Self.isAddress(text) {
      address = try ServerAddress(text, setting: setting, defaultDatabase: defaultDatabase)
      guard !address.hasPassword else {
        throw StoreError(
          .invalidArgument,
          "\(setting): other users can read a password there; put it into ~/.pgpass, or the address into a file "
            + "with mode 0600", path: address.place)
      }
    } else if Self.isMistakenAddress(text) {
      // The text may contain a password, so the error does not repeat it.
      throw StoreError(
        .invalidArgument,
        "\(setting): not an address like postgresql://user@host:5432/database; put keyword=value pairs into a file "
          + "with mode 0600, or ./ in front of a path")
    } else {
      address = try AddressFile.read(Self.path(text), setting: setting, defaultDatabase: defaultDatabase)
    }
    opener = SessionOpener(address: address, limits: limits, counters: PostgreSQLCounters())
  }

  /// Whether the text of a setting is a server's address, not a path.
  public static func isAddress(_ text: String) -> Bool {
    text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
  }

  /// Whether the text of a setting is neither an address nor a likely path: `host=one password=…`, `user@host`, or an
  /// address with a mistake in its scheme.
  package static func isMistakenAddress(_ text: String) -> Bool {
    guard !isAddress(text), !text.hasPrefix("file:") else { return false }
    let first = text.prefix { $0 != "/" }
    return text.hasPrefix("//") || first.hasSuffix(":") || first.contains { $0 == "=" || $0 == "@" }
  }

  /// The name of the database.
  public var database: String { opener.address.database }

  /// The counters of the connections since the engine was created.
  public var metrics: PostgreSQLMetrics { opener.counters.snapshot }

  /// The server's state when the writer last asked for it, at most every 10 s; nil before.
  public var condition: ServerCondition? { opener.counters.condition }

  private static func path(_ text: String) -> String {
    for prefix in ["file://", "file:"] where text.hasPrefix(prefix) { return String(text.dropFirst(prefix.count)) }
    return text
  }
}

extension StoreConfiguration {
  /// Creates the configuration of a store on a server.
  public init(_ server: PostgreSQLEngine) {
    self.init(path: "")
    engine = server
  }
}

extension PostgreSQLEngine: StoreEngine {
  package var place: String { opener.address.place }
  package var dialect: SQLDialect { .postgreSQL }
  package var readsInline: Bool { false }
  package var readersMax: Int { opener.limits.readersMax }
  package var readerWaitMs: Int { opener.limits.readerWaitMs }
  /// A frozen primary that continues after another one has replaced it answers with old rows. That takes 20 s at least
  /// (Patroni's `ttl`), which is more than this time and that of an answer (`silenceMsMax`).
  package var readerIdleMax: Duration? { opener.address.hosts.count > 1 ? .seconds(5) : nil }
  package var gatheringNsMax: Int64 { 500_000 }

  /// Takes nothing, because several processes may use one database.
  package func claim() throws(StoreError) -> (any StoreClaim)? { nil }

  package func openWriter() throws(StoreError) -> any StoreConnection {
    try PostgreSQLConnection(opener, .writer)
  }

  package func openReader() throws(StoreError) -> any StoreConnection {
    try PostgreSQLConnection(opener, .reader)
  }

  /// The server checks its own pages. `openWriter` has checked the server.
  package func check(_ connection: any StoreConnection) throws(StoreError) -> StartupCheckOutcome { .skipped }

  package func tidy(_ connection: any StoreConnection) {}

  package var leaseStatements: LeaseStatements? { LaneSchema.leases }

  package func openSignal(_ onChange: @escaping @Sendable (ChangedNames) -> Void) -> (any ChangeSignal)? {
    DatabaseSignal(opener, onChange)
  }

  package func sizes() -> (databaseBytes: Int64, logBytes: Int64) { (opener.counters.condition?.databaseBytes ?? 0, 0) }
}
