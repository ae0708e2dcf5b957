import CampanileCrypto

/// Copies a database into an empty one, of the same or another engine.
///
/// Copies table by table in the order of the primary key. A move that was interrupted continues where it ended, and a
/// table counts as moved when both sides have the same rows and the same SHA-256. Epochs and sequences are copied, so
/// resume tokens stay valid. Stop the service first: the source is read in one transaction.
///
/// A move that has ended may be repeated until a program opens the target, because `campanile move` copies several
/// databases, and an interruption may come between two of them.
public struct StoreMove {
  /// The extent of a move so far.
  public struct Progress: Sendable, Hashable {
    public var tablesMoved = 0
    public var tables = 0
    public var rows = 0
    /// Whether an earlier run has moved everything. The source was compared with the rows that were moved then.
    public var wasComplete = false
  }

  private static let rowsPerCommit = 200
  private static let ownTables: Set<String> = [
    "schema_migrations", "store_move", "store_moved", "store_lanes", "store_commits", "store_leases",
  ]

  private let source: StoreConfiguration
  private let target: StoreConfiguration
  private let migrator: Migrator
  private let omitted: Set<String>
  private let finishing: [String]
  private let processesSQL: String?
  private let mayBeInUse: Bool
  /// Copies what the database does not contain, after its tables. Runs again if the move is repeated before its end.
  package var copyContents: ((_ source: any StoreConnection, _ target: any StoreConnection) throws -> Void)?

  /// - Parameters:
  ///   - migrations: The schema of both databases.
  ///   - omitted: Tables that are not copied, because the service builds them from others.
  ///   - finishing: Statements that make the service do so.
  ///   - processesSQL: A query on PostgreSQL for the number of processes that work without a lease.
  ///   - mayBeInUse: Whether processes may work on the source server, for a copy of one moment.
  public init(
    from source: StoreConfiguration, to target: StoreConfiguration, migrations: [Migration],
    omitting omitted: Set<String> = [], finishing: [String] = [], processesSQL: String? = nil,
    mayBeInUse: Bool = false
  ) {
    self.source = source
    self.target = target
    migrator = Migrator(migrations)
    self.omitted = omitted
    self.finishing = finishing
    self.processesSQL = processesSQL
    self.mayBeInUse = mayBeInUse
  }

  /// Moves the database. Blocks.
  ///
  /// - Throws: `alreadyExists` if the target has other data. `migration` if the source has another schema than this
  ///   program. `inUse` if a program has a file of the move open, or works on the source server. `corrupt` if the copy
  ///   differs from its source.
  public func run(_ report: (Progress) -> Void = { _ in }) throws(StoreError) -> Progress {
    let engine = source.storeEngine
    guard source.engine != nil || DatabaseFile.sizeBytes(source.path) > 0 else {
      throw StoreError(.invalidArgument, "there is no database", path: source.path)
    }
    let claim = try engine.claim()
    defer { claim?.release() }
    let reader = try engine.openReader()
    defer { try? reader.close() }
    guard try migrator.plan(on: reader).pending.isEmpty else {
      throw StoreError(.migration, "the schema is older than this program; start the service once", path: engine.place)
    }
    if !mayBeInUse, try isUsed(reader) {
      throw StoreError(.inUse, "a process runs on the source; stop the suite first", path: engine.place)
    }
    return try write(from: reader, report)
  }

  /// Whether a process works on the source. A file has none, because it was claimed.
  private func isUsed(_ reader: any StoreConnection) throws(StoreError) -> Bool {
    guard reader.dialect == .postgreSQL else { return false }
    do {
      let processes = try processesSQL.flatMap { try reader.integer($0) } ?? 0
      return try processes + StorePresence.liveLeases(reader) > 0
    } catch {
      throw .from(error, path: reader.place)
    }
  }

  private func write(from reader: any StoreConnection, _ report: (Progress) -> Void) throws(StoreError) -> Progress {
    let engine = target.storeEngine
    let claim = try engine.claim()
    defer { claim?.release() }
    let writer = try engine.openWriter()
    defer { try? writer.close() }
    do {
      try reader.beginReading()
      defer { reader.rollBack() }
      let tables = try self.tables(reader)
      if try writer.hasTable("store_moved") {
        try checkSource(try self.digests(tables, reader), writer)
        return Progress(tablesMoved: tables.count, tables: tables.count, wasComplete: true)
      }
      try prepare(writer)
      guard try self.tables(writer) == tables else {
        throw StoreError(.migration, "the databases have different tables", path: writer.place)
      }
      var progress = Progress(tables: tables.count)
      var digests: [MovedTable.Digest] = []
      for table in tables {
        let digest = try copy(table, reader, writer) { count in
          progress.rows += count
          report(progress)
        }
        digests.append(digest)
        progress.tablesMoved += 1
        report(progress)
      }
      try copyContents?(reader, writer)
      try finish(writer, digests)
      return progress
    } catch {
      writer.rollBack()
      throw .from(error, path: writer.place)
    }
  }

  /// Checks that a database is not a part of another one. From then on, a move into it cannot be repeated.
  ///
  /// - Throws: `migration` if a move into it has not ended.
  static func checkEnded(_ connection: any StoreConnection) throws {
    guard try !connection.hasTable("store_move") else {
      throw StoreError(.migration, "a move into this database has not ended; repeat it", path: connection.place)
    }
    guard try connection.hasTable("store_moved") else { return }
    try connection.beginMigrating()
    try connection.runScript("DROP TABLE IF EXISTS store_moved")
    try connection.commit()
  }

  /// Checks that a move that has ended was one of the same rows.
  private func checkSource(_ digests: [MovedTable.Digest], _ writer: any StoreConnection) throws {
    let isSame = try writer.integer(
      "SELECT count(*) FROM store_moved WHERE source_sha256 = $1", [.text(try Self.fingerprint(digests))])
    guard isSame == 1 else {
      throw StoreError(
        .alreadyExists, "the target has data of another state of the source; move into an empty database",
        path: writer.place)
    }
  }

  private func digests(_ tables: [MovedTable], _ reader: any StoreConnection) throws -> [MovedTable.Digest] {
    try tables.map { try $0.digest(reader, rowsPerPart: Self.rowsPerCommit) }
  }

  /// Returns the hash of the hashes of all tables.
  private static func fingerprint(_ digests: [MovedTable.Digest]) throws -> String {
    try SHA256.digest(digests.flatMap(\.sha256)).hexadecimal
  }

  private func prepare(_ writer: any StoreConnection) throws {
    if try !writer.hasTable("store_move") {
      guard try !writer.hasTable("schema_migrations") else {
        throw StoreError(.alreadyExists, "the target has data; move into an empty database", path: writer.place)
      }
      try transaction(writer) {
        try writer.runScript(
          "CREATE TABLE store_move (name TEXT NOT NULL PRIMARY KEY, is_moved BIGINT NOT NULL)")
      }
    }
    _ = try migrator.apply(on: writer)
  }

  /// Ends the move: from then on, a program may open the database.
  private func finish(_ writer: any StoreConnection, _ digests: [MovedTable.Digest]) throws {
    try transaction(writer) {
      for statement in try finishing + MovedTable.identityStatements(writer) { try writer.run(statement) }
      try writer.runScript("DROP TABLE store_move; CREATE TABLE store_moved (source_sha256 TEXT NOT NULL PRIMARY KEY)")
      try writer.run("INSERT INTO store_moved (source_sha256) VALUES ($1)", [.text(try Self.fingerprint(digests))])
    }
  }

  private func transaction(_ writer: any StoreConnection, _ body: () throws -> Void) throws {
    try writer.beginMigrating()
    try body()
    try writer.commit()
  }

  private func tables(_ connection: any StoreConnection) throws -> [MovedTable] {
    try MovedTable.all(connection).filter { !Self.ownTables.contains($0.name) && !omitted.contains($0.name) }
  }

  /// Copies the rows that are missing, and compares both sides. That includes a table that was copied before an
  /// interruption, because its source may have changed since.
  ///
  /// - Returns: The digest of the table.
  private func copy(
    _ table: MovedTable, _ reader: any StoreConnection, _ writer: any StoreConnection, _ report: (Int) -> Void
  ) throws -> MovedTable.Digest {
    let state = try writer.integer("SELECT is_moved FROM store_move WHERE name = $1", [.text(table.name)])
    if state == 1 { return try compare(table, reader, writer) }
    var position: [SQLValue]?
    if state == nil {
      // Migrations have inserted rows.
      try writer.beginWriting()
      try writer.execute("DELETE FROM \(table.quotedName)", [])
      try writer.execute("INSERT INTO store_move (name, is_moved) VALUES ($1, 0)", [.text(table.name)])
      try writer.commit()
    } else {
      position = try table.lastKey(writer)
    }
    while true {
      let rows = try table.rows(after: position, countMax: Self.rowsPerCommit, reader)
      if !rows.isEmpty {
        try writer.beginWriting()
        for row in rows { try writer.execute(table.insertSQL, row) }
        try writer.commit()
        position = rows.last.map(table.key)
        report(rows.count)
      }
      if rows.count < Self.rowsPerCommit { break }
    }
    let digest = try compare(table, reader, writer)
    try writer.beginWriting()
    try writer.execute("UPDATE store_move SET is_moved = 1 WHERE name = $1", [.text(table.name)])
    try writer.commit()
    return digest
  }

  private func compare(
    _ table: MovedTable, _ reader: any StoreConnection, _ writer: any StoreConnection
  ) throws -> MovedTable.Digest {
    let digests = try [reader, writer].map { try table.digest($0, rowsPerPart: Self.rowsPerCommit) }
    guard digests[0] == digests[1] else {
      throw StoreError(
        .corrupt, "the copy of the table \(table.name) differs from its source; move into an empty database",
        path: writer.place)
    }
    return digests[0]
  }
}
