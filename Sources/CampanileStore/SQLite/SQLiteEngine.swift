/// SQLite on a file that one process owns.
struct SQLiteEngine: StoreEngine {
  let factory: ConnectionFactory

  init(_ configuration: StoreConfiguration) { factory = ConnectionFactory(configuration: configuration) }

  var place: String { factory.path }
  var dialect: SQLDialect { .sqlite }
  var readsInline: Bool { true }
  var readersMax: Int { factory.configuration.readersMax }
  var readerWaitMs: Int { factory.configuration.readerWaitMs }
  var readerIdleMax: Duration? { nil }
  var gatheringNsMax: Int64 { 0 }

  func claim() throws(StoreError) -> (any StoreClaim)? {
    try DatabaseFile.prepare(place)
    return try OwnershipLock(databasePath: place)
  }

  func openWriter() throws(StoreError) -> any StoreConnection { try factory.writer() }
  func openReader() throws(StoreError) -> any StoreConnection { try factory.reader() }

  func check(_ connection: any StoreConnection) throws(StoreError) -> StartupCheckOutcome {
    guard let connection = connection as? SQLiteConnection else { return .skipped }
    return try IntegrityCheck.run(factory.configuration.startupCheck, on: connection)
  }

  /// Truncates the write-ahead log. Frames of a failed commit may follow the valid ones, and a crash could bring them
  /// back. A reader outside this process may prevent it; the next start does it then.
  func tidy(_ connection: any StoreConnection) { try? connection.run("PRAGMA wal_checkpoint(TRUNCATE)") }

  var leaseStatements: LeaseStatements? { nil }

  /// Only one process may open the file.
  func openSignal(_ onChange: @escaping @Sendable (ChangedNames) -> Void) -> (any ChangeSignal)? { nil }

  func sizes() -> (databaseBytes: Int64, logBytes: Int64) {
    (DatabaseFile.sizeBytes(place), DatabaseFile.sizeBytes(place + "-wal"))
  }
}
