import CSQLiteSettings
import GRDB
import GRDBSQLite

/// Opens connections to one file with the pragmas of their role.
struct ConnectionFactory: Sendable {
  /// "CAMP": marks a database file as this suite's own.
  static let applicationID: Int64 = 0x43_41_4D_50

  /// Once in a process, before its first connection. Where something else has used SQLite before, everything works as well,
  /// somewhat slower: so the code that it answers is not asked for.
  private static let memoryIsUncounted: Bool = campanile_sqlite_leave_memory_uncounted() == SQLITE_OK

  let configuration: StoreConfiguration

  init(configuration: StoreConfiguration) {
    self.configuration = configuration
    _ = Self.memoryIsUncounted
  }

  var path: String { configuration.path }

  /// The connection that writes: write-ahead log, the wanted durability, both read back.
  ///
  /// Throws `corrupt` for a file that is no database, `foreignFile` for one that another application made.
  func writer() throws(StoreError) -> SQLConnection {
    let connection = try SQLConnection(path: path, configuration: settings(isReader: false))
    do {
      try claim(connection)
      try enableWriteAheadLog(connection)
      return connection
    } catch {
      try? connection.close()
      throw .from(error, path: path)
    }
  }

  /// A connection that cannot write.
  func reader() throws(StoreError) -> SQLConnection {
    try SQLConnection(path: path, configuration: settings(isReader: true))
  }

  /// A reader of a file that no store of this process has open; checks first that the file is this suite's.
  func verifiedReader() throws(StoreError) -> SQLConnection {
    let connection = try reader()
    do {
      guard try connection.integer("PRAGMA application_id") == Self.applicationID else {
        throw StoreError(.foreignFile, "the file is a database of another application", path: path)
      }
      return connection
    } catch {
      try? connection.close()
      throw .from(error, path: path)
    }
  }

  private func settings(isReader: Bool) -> Configuration {
    var settings = Configuration()
    settings.readonly = isReader
    settings.foreignKeysEnabled = true
    settings.busyMode = .timeout(Double(configuration.busyTimeoutMs) / 1_000)
    // The writer begins and commits by itself; GRDB would trap on a transaction that it did not begin.
    settings.allowsUnsafeTransactions = true
    settings.acceptsDoubleQuotedStringLiterals = false
    settings.label = isReader ? "store.reader" : "store.writer"
    let cacheKiB = isReader ? configuration.cacheKiB : configuration.writerCacheKiB
    settings.prepareDatabase { database in
      // Memory-mapped reads stay off: there an I/O error is a SIGBUS, here it is an error that a caller can answer.
      try database.execute(
        sql: "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -\(cacheKiB)")
    }
    return settings
  }

  private func claim(_ connection: SQLConnection) throws {
    let mark = try connection.integer("PRAGMA application_id") ?? 0
    guard mark != Self.applicationID else { return }
    let objects = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
    guard mark == 0, objects == 0 else {
      throw StoreError(.foreignFile, "the file is a database of another application", path: path)
    }
    try connection.run("PRAGMA application_id = \(Self.applicationID)")
  }

  private func enableWriteAheadLog(_ connection: SQLConnection) throws {
    var mode = ""
    try connection.forEachRow("PRAGMA journal_mode = WAL", []) { row in
      mode = try row.text(0)
      return false
    }
    guard mode == "wal" else {
      throw StoreError(.unavailable, "the file system has no write-ahead log (journal mode \(mode))", path: path)
    }
    let synchronous: Int64 = configuration.durability == .full ? 2 : 1
    try connection.run("PRAGMA synchronous = \(synchronous)")
    guard try connection.integer("PRAGMA synchronous") == synchronous else {
      throw StoreError(.unavailable, "SQLite did not take the wanted durability", path: path)
    }
    try connection.run("PRAGMA wal_autocheckpoint = \(configuration.checkpointPages)")
    try connection.run("PRAGMA journal_size_limit = \(configuration.walBytesMax)")
    if let sizeBytesMax = configuration.sizeBytesMax {
      let pageBytes = try connection.integer("PRAGMA page_size") ?? 4_096
      try connection.run("PRAGMA max_page_count = \(max(1, sizeBytesMax / pageBytes))")
    }
  }
}
