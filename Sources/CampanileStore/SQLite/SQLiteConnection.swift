import GRDB
import GRDBSQLite

/// A connection to a database file. GRDB opens, configures and closes it and compiles its statements.
///
/// `@unchecked Sendable`: a connection has one user at a time. The writer's thread owns one permanently; the reader
/// pool lends each to a single caller, and its mutex orders the transfers.
final class SQLiteConnection: StoreConnection, @unchecked Sendable {
  let path: String
  let queue: DatabaseQueue
  let handle: OpaquePointer
  private var statements = StatementCache<PreparedStatement>()
  var snapshot = Snapshot()

  init(path: String, configuration: Configuration) throws(StoreError) {
    self.path = path
    do {
      queue = try DatabaseQueue(path: path, configuration: configuration)
      guard let handle = queue.unsafeReentrantRead({ $0.sqliteConnection }) else {
        throw StoreError(.unavailable, "the connection has no handle", path: path)
      }
      self.handle = handle
    } catch {
      throw .from(error, path: path)
    }
    sqlite3_extended_result_codes(handle, 1)
    // GRDB's hooks serve transaction observers, which are not used here, and trap outside its own queue.
    _ = sqlite3_commit_hook(handle, nil, nil)
    _ = sqlite3_rollback_hook(handle, nil, nil)
  }

  var place: String { path }
  var dialect: SQLDialect { .sqlite }

  func forEachRow(
    _ sql: String, _ arguments: [SQLValue], allowed: StatementKinds, _ body: (borrowing SQLRow) throws -> Bool
  ) throws {
    try forEachRow(sql, binding: arguments, allowed: allowed, body)
  }

  /// - Parameter arguments: nil leaves the parameters NULL, to explain the statement.
  func forEachRow(
    _ sql: String, binding arguments: [SQLValue]?, allowed: StatementKinds = .all,
    _ body: (borrowing SQLRow) throws -> Bool
  ) throws {
    let statement = try statement(sql, allowed)
    statement.isInUse = true
    defer {
      statement.reset()
      statement.isInUse = false
    }
    if let arguments { try statement.bind(arguments) }
    var isWanted = true
    while true {
      switch sqlite3_step(statement.handle) {
      case SQLITE_ROW:
        if isWanted { isWanted = try body(SQLRow(statement: statement.handle)) }
        // A change with RETURNING must run to its end, even if its rows are no longer wanted.
        if !isWanted, statement.isReadOnly { return }
      case SQLITE_DONE:
        return
      default:
        throw StoreError.last(of: handle, path: path)
      }
    }
  }

  func execute(_ sql: String, _ arguments: [SQLValue]) throws {
    try forEachRow(sql, binding: arguments, allowed: .writing) { _ in true }
  }

  func executeCounting(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
    try execute(sql, arguments)
    return Int(sqlite3_changes64(handle))
  }

  func execute(_ sql: String, _ arguments: [SQLValue], orThrow error: StoreError) throws {
    guard try executeCounting(sql, arguments) > 0 else { throw error }
  }

  // Asking ahead gains nothing without a network.
  var asksAhead: Bool { false }
  func askAhead(_ queries: [SQLQuery]) {}
  func forgetAnswers(to queries: [SQLQuery]) {}
  func forgetAnswers() {}

  func runScript(_ sql: String) throws(StoreError) {
    do {
      try queue.unsafeReentrantWrite { try $0.execute(sql: sql) }
    } catch {
      throw .from(error, path: path)
    }
  }

  func hasTable(_ name: String) throws -> Bool {
    try integer("SELECT count(*) FROM sqlite_schema WHERE name = $1", [.text(name)]) ?? 0 > 0
  }

  /// Closes the file. Releases the statements first, because SQLite refuses to close a connection that has some.
  func close() throws(StoreError) {
    endSnapshot()
    statements.removeAll()
    do {
      try queue.close()
    } catch {
      throw .from(error, path: path)
    }
  }

  private func statement(_ sql: String, _ allowed: StatementKinds) throws -> PreparedStatement {
    if let known = statements.find(sql) {
      guard allowed.contains(known.kind) else { throw refusedKind(allowed) }
      return known
    }
    // Check before compiling, because some pragmas take effect while they are compiled.
    let kind = StatementKinds.kind(of: sql)
    guard allowed.contains(kind) else { throw refusedKind(allowed) }
    let compiled: PreparedStatement
    do {
      compiled = try PreparedStatement(queue.unsafeReentrantRead { try $0.makeStatement(sql: sql) }, sql, kind)
    } catch {
      throw StoreError.from(error, path: path)
    }
    statements.keep(compiled)
    return compiled
  }
}
