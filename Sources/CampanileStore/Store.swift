import CampanileRPC

/// One embedded database: a SQLite file with a single group-commit writer and reads that never wait for writes.
///
/// An acknowledged write survives the end of the process always, and the loss of power with `durability` `.full`.
/// Close it with `close()`; a store that is dropped unclosed finishes its queued writes and leaves the file sound.
public final class Store: Sendable {
  public let configuration: StoreConfiguration
  /// What the check at start found.
  public let startupCheck: StartupCheckOutcome
  /// What opening did to the schema.
  public let migrationPlan: MigrationPlan

  private let factory: ConnectionFactory
  private let writer: GroupCommitWriter
  private let readers: ReaderPool
  private let end: StoreEnd

  /// Opens the file, creating it where missing, checks it and brings its schema up to date. Blocks; call it at start.
  ///
  /// Throws `inUse` when another process has the file, `corrupt`, `foreignFile`, `migration`, or `unavailable`; each
  /// names the file.
  public init(_ configuration: StoreConfiguration, migrations: [Migration]) throws(StoreError) {
    self.configuration = configuration
    try DatabaseFile.prepare(configuration.path)
    let lock = try OwnershipLock(databasePath: configuration.path)
    let factory = ConnectionFactory(configuration: configuration)
    let connection = try factory.writer()
    let readers = ReaderPool(factory: factory)
    do {
      startupCheck = try IntegrityCheck.run(configuration.startupCheck, on: connection)
      migrationPlan = try Migrator(migrations).apply(on: connection)
      try readers.openFirst()
    } catch {
      readers.close()
      try? connection.close()
      throw .from(error, path: configuration.path)
    }
    let end = StoreEnd(lock)
    self.factory = factory
    self.readers = readers
    self.end = end
    writer = GroupCommitWriter(factory: factory) { connection in
      readers.close()
      end.finish(connection)
    }
    writer.start(connection)
  }

  deinit { writer.close() }

  /// Runs `body` in a transaction and returns after the commit that makes it durable.
  ///
  /// Writes that wait together share a commit. When `body` throws, its changes alone are undone and its error is
  /// rethrown; to undo them without a savepoint for every write, the writes that joined the commit before may be run a
  /// second time: a body does nothing but read and change the database. It runs on the writer's thread, holds up all
  /// other writes, and must not wait for anything. A body that has not started when the calling task is cancelled never runs (`CancellationError`).
  ///
  /// Throws `overloaded` when too many writes wait, `diskFull` or `unavailable` when the commit failed (none of the
  /// change is kept), `closed` after `close()`.
  public func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    guard let scope = CallScope.current else { return try await writer.write(nil, body) }
    let start = ContinuousClock.now
    defer { scope.addCommit(ns: (ContinuousClock.now - start).nanoseconds) }
    return try await writer.write(scope, body)
  }

  /// Runs several queries on one snapshot of the database, on the caller's own thread.
  ///
  /// Sees every write acknowledged before the first query. Throws `overloaded` when all read connections stayed busy.
  public func read<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try readers.withConnection { connection in
      try connection.run("BEGIN")
      defer { if !connection.isAutocommit { try? connection.run("COMMIT") } }
      return try Self.run(body, on: connection)
    }
  }

  /// Like `read`, but each query sees its own snapshot: the cheaper form for a body with one query.
  public func readSingle<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try readers.withConnection { try Self.run(body, on: $0) }
  }

  /// Counters and sizes now.
  public func metrics() -> StoreMetrics {
    var metrics = writer.snapshot()
    (metrics.readerWaits, metrics.readersOpen) = readers.counts
    metrics.databaseBytes = DatabaseFile.sizeBytes(configuration.path)
    metrics.walBytes = DatabaseFile.sizeBytes(configuration.path + "-wal")
    return metrics
  }

  /// Finishes queued writes, moves the write-ahead log into the file, closes it and gives up its ownership.
  /// Later calls wait for the same end.
  public func close() async {
    writer.close()
    await end.wait()
  }

  /// Ends a staged store as a process does that is killed (see `WriterStage`): what waits is not written.
  package func abandon() { writer.abandon() }

  /// Whether `close` was called, be it finished or not.
  public var isClosing: Bool { writer.isClosed }

  /// How SQLite would run a statement: the detail column of EXPLAIN QUERY PLAN.
  public func queryPlan(_ sql: String) throws -> [String] {
    try readers.withConnection { connection in try QueryPlan.details(of: sql, on: connection) }
  }

  /// The steps of a statement that walk through a whole table, or a whole index unless `allowingIndexScans`.
  /// Tests of repositories expect none.
  public func fullScans(_ sql: String, allowingIndexScans: Bool = false) throws -> [String] {
    QueryPlan.fullScans(in: try queryPlan(sql), allowingIndexScans: allowingIndexScans)
  }

  private static func run<T>(_ body: (ReadTransaction) throws -> T, on connection: SQLConnection) throws -> T {
    let transaction = ReadTransaction(connection, .reading)
    defer { transaction.invalidate() }
    return try body(transaction)
  }
}
