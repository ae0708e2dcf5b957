import CCampanile
import GRDB
import GRDBSQLite

/// Opens connections to one file with the pragmas for their role.
struct ConnectionFactory: Sendable {
  /// "CAMP": marks a database file as created by Campanile.
  static let applicationID: Int64 = 0x43_41_4D_50

  /// Runs once per process, before its first connection. The result is ignored: if SQLite was used before, everything
  /// still works, only somewhat slower.
  private static let memoryIsUncounted: Bool = campanile_sqlite_leave_memory_uncounted() == SQLITE_OK

  let configuration: StoreConfiguration

  init(configuration: StoreConfiguration) {
    self.configuration = configuration
    _ = Self.memoryIsUncounted
  }

  var path: String { configuration.path }

  /// Opens the writer's connection, and verifies that the write-ahead log and the durability are in effect.
  ///
  /// - Throws: `corrupt` if the file is not a database, `foreignFile` if another application created it.
  func writer() throws(StoreError) -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, configuration: settings(isReader: false))
    do {
      try claim(connection)
      try enableWriteAheadLog(connection)
      return connection
    } catch {
      try? connection.close()
      throw .from(error, path: path)
    }
  }

  /// Opens a read-only connection.
  func reader() throws(StoreError) -> SQLiteConnection {
    try SQLiteConnection(path: path, configuration: settings(isReader: true))
  }

  /// Opens a reader for a file that no store of this process has open. Verifies first that Campanile created the file.
  func verifiedReader() throws(StoreError) -> SQLiteConnection {
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
    // The writer begins and commits transactions itself; GRDB would trap on a transaction that it did not begin.
    settings.allowsUnsafeTransactions = true
    settings.acceptsDoubleQuotedStringLiterals = false
    settings.label = isReader ? "store.reader" : "store.writer"
    let cacheKiB = isReader ? configuration.cacheKiB : configuration.writerCacheKiB
    settings.prepareDatabase { database in
      // Memory-mapped reads stay off: an I/O error would raise SIGBUS instead of an error that can be returned.
      try database.execute(
        sql: "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -\(cacheKiB)")
    }
    return settings
  }

  private func claim(_ connection: SQLiteConnection) throws {
    let mark = try connection.integer("PRAGMA application_id") ?? 0
    guard mark != Self.applicationID else { return }
    let objects = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
    guard mark == 0, objects == 0 else {
      throw StoreError(.foreignFile, "the file is a database of another application", path: path)
    }
    try connection.run("PRAGMA application_id = \(Self.applicationID)")
  }

  private func enableWriteAheadLog(_ connection: SQLiteConnection) throws {
    var mode = ""
    try connection.forEachRow("PRAGMA journal_mode = WAL", binding: []) { row in
      mode = try row.text(0)
      return false
    }
    guard mode == "wal" else {
      throw StoreError(.unavailable, "no write-ahead log on this file system (journal mode \(mode))", path: path)
    }
    let synchronous: Int64 = configuration.durability == .full ? 2 : 1
    try connection.run("PRAGMA synchronous = \(synchronous)")
    guard try connection.integer("PRAGMA synchronous") == synchronous else {
      throw StoreError(.unavailable, "SQLite did not accept the configured durability", path: path)
    }
    try connection.run("PRAGMA wal_autocheckpoint = \(configuration.checkpointPages)")
    try connection.run("PRAGMA journal_size_limit = \(configuration.walBytesMax)")
    if let sizeBytesMax = configuration.sizeBytesMax {
      let pageBytes = try connection.integer("PRAGMA page_size") ?? 4_096
      try connection.run("PRAGMA max_page_count = \(max(1, sizeBytesMax / pageBytes))")
    }
  }
}
