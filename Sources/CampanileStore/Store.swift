import CampanileBase

/// A database with a single group-commit writer, and reads that never wait for writes. By default a SQLite file.
///
/// An acknowledged write always survives the end of the process, and with `durability` `.full` also a power loss. Close
/// the store with `close()`. A store that is released without it finishes its queued writes and leaves the file intact.
public final class Store: Sendable {
  public let configuration: StoreConfiguration
  /// The result of the startup check.
  public let startupCheck: StartupCheckOutcome
  /// The migrations that were applied before and by opening the store.
  public let migrationPlan: MigrationPlan

  /// The dialect of the database, for the few statements that differ.
  package var dialect: SQLDialect { engine.dialect }

  /// Nil if no other process can use the database.
  let leaseStatements: LeaseStatements?

  private let engine: any StoreEngine
  private let writer: GroupCommitWriter
  private let readers: ReaderPool
  /// Run reads of an engine that waits for a network; nil if reads run inline.
  private let readerThreads: ReaderThreads?
  private let end: StoreEnd

  /// Opens the database, creates it if missing, checks it and migrates its schema. Blocks; call it at startup.
  ///
  /// - Throws: `inUse` if another process has the file open, `corrupt`, `foreignFile`, `migration` or `unavailable`;
  ///   each with the path of the file or the address of the server.
  public init(_ configuration: StoreConfiguration, migrations: [Migration]) throws(StoreError) {
    self.configuration = configuration
    let engine = configuration.storeEngine
    let claim = try engine.claim()
    let connection = try engine.openWriter()
    let readers = ReaderPool(engine)
    do {
      startupCheck = try engine.check(connection)
      try StoreMove.checkEnded(connection)
      migrationPlan = try Migrator(migrations).apply(on: connection)
      try readers.openFirst()
    } catch {
      readers.close()
      try? connection.close()
      throw .from(error, path: engine.place)
    }
    let signal = configuration.foreignObserver.flatMap { engine.openSignal($0) }
    let end = StoreEnd(engine, claim, signal)
    self.engine = engine
    leaseStatements = engine.leaseStatements
    self.readers = readers
    self.end = end
    readerThreads = engine.readsInline ? nil : ReaderThreads(engine)
    writer = GroupCommitWriter(engine, configuration, readers, signal) { connection in
      readers.close()
      end.finish(connection)
    }
    writer.start(connection)
  }

  deinit { writer.close() }

  /// Runs `body` in a transaction and returns after the commit that makes it durable.
  ///
  /// Writes that wait at the same time share a commit. If `body` throws, only its own changes are undone, and its error
  /// is rethrown. Instead of a savepoint for every write, this may run earlier writes of the same commit again, so a
  /// body must only read and change the database. It runs on the writer's thread, blocks all other writes, and must not
  /// wait for anything.
  ///
  /// A body that has not started when the calling task is cancelled never runs.
  ///
  /// - Parameter ahead: The body's first queries, evaluated only for a server.
  /// - Throws: `overloaded` if too many writes are waiting; `diskFull` or `unavailable` if the commit failed and
  ///   nothing was kept; `closed` after `close()`; `CancellationError` if cancelled before the start.
  public func write<T: Sendable>(
    ahead: @autoclosure () -> ReadAhead? = nil, _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    if let leaseStatements, let lease = StoreLease.current, lease.store == ObjectIdentifier(self) {
      return try await write(under: lease, leaseStatements, body)
    }
    let ahead = readerThreads == nil ? nil : ahead()
    guard let scope = CallScope.current else { return try await writer.write(nil, ahead, body) }
    let start = ContinuousClock.now
    defer { scope.addCommit(ns: (ContinuousClock.now - start).nanoseconds) }
    return try await writer.write(scope, ahead, body)
  }

  /// Like `write`, on the caller's own thread, which waits. It must be a thread for blocking work; a handler must use
  /// `write`.
  public func writeBlocking<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) throws -> T {
    try writer.writeBlocking(body)
  }

  /// Runs several queries on one snapshot of the database, which includes every write acknowledged before.
  ///
  /// On SQLite the body runs on the caller's thread, and the call does not suspend.
  ///
  /// - Throws: `overloaded` if all read connections stayed busy.
  public func read<T: Sendable>(_ body: @Sendable (ReadTransaction) throws -> T) async throws -> T {
    guard let readerThreads else { return try readBlocking(body) }
    return try await withoutActuallyEscaping(body) { body in
      try await readerThreads.run { try self.readBlocking(body) }
    }
  }

  /// Runs queries that each see their own snapshot. Cheaper than `read` for a body with one query.
  public func readSingle<T: Sendable>(_ body: @Sendable (ReadTransaction) throws -> T) async throws -> T {
    guard let readerThreads else { return try readSingleBlocking(body) }
    return try await withoutActuallyEscaping(body) { body in
      try await readerThreads.run { try self.readSingleBlocking(body) }
    }
  }

  /// Like `read`, on the caller's own thread, which waits. A handler must use `read`.
  public func readBlocking<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try readers.read(isSingle: false) { try Self.run(body, on: $0) }
  }

  /// Like `readSingle`, on the caller's own thread, which waits.
  public func readSingleBlocking<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try readers.read(isSingle: true) { try Self.run(body, on: $0) }
  }

  /// Returns the current counters and sizes.
  public func metrics() -> StoreMetrics {
    var metrics = writer.snapshot()
    (metrics.readerWaits, metrics.readersOpen) = readers.counts
    (metrics.databaseBytes, metrics.walBytes) = engine.sizes()
    return metrics
  }

  /// Finishes queued writes, checkpoints the write-ahead log, closes the file and releases its lock. Later calls wait
  /// for the same end.
  public func close() async {
    writer.close()
    await end.wait()
  }

  /// Ends a staged store like a killed process (see `WriterStage`): waiting writes are lost.
  package func abandon() { writer.abandon() }

  /// Whether `close` was called, even if it has not finished.
  public var isClosing: Bool { writer.isClosed }

  /// Returns SQLite's plan for a statement: the detail column of EXPLAIN QUERY PLAN.
  public func queryPlan(_ sql: String) throws -> [String] {
    try readers.withConnection { connection in
      guard let connection = connection as? SQLiteConnection else {
        throw StoreError(.invalidArgument, "only SQLite's plans are parsed", path: engine.place)
      }
      return try QueryPlan.details(of: sql, on: connection)
    }
  }

  /// Returns the steps of a statement that scan a whole table, or a whole index unless `allowingIndexScans`. Tests of
  /// repositories expect none.
  public func fullScans(_ sql: String, allowingIndexScans: Bool = false) throws -> [String] {
    QueryPlan.fullScans(in: try queryPlan(sql), allowingIndexScans: allowingIndexScans)
  }

  private static func run<T>(_ body: (ReadTransaction) throws -> T, on connection: any StoreConnection) throws -> T {
    let transaction = ReadTransaction(connection, .reading)
    defer { transaction.invalidate() }
    return try body(transaction)
  }
}
