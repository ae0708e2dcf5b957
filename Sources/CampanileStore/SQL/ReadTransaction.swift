/// Queries inside one read, or inside a write (`WriteTransaction` inherits from it).
///
/// SQL is the subset that both SQLite ≥ 3.40 and PostgreSQL ≥ 15 run: `$1` placeholders, `ON CONFLICT`, `RETURNING`,
/// times as integers in milliseconds, JSON as text. Valid only inside the body that receives it; later uses throw
/// `StoreError.invalidArgument`.
public class ReadTransaction {
  /// Maximum number of rows that `query` returns by default.
  public static let rowsMax = 10_000

  private var connection: (any StoreConnection)?
  fileprivate let allowed: StatementKinds

  package init(_ connection: any StoreConnection, _ allowed: StatementKinds) {
    self.connection = connection
    self.allowed = allowed
  }

  /// Invalidates the transaction: a copy that escapes its body must not use a connection that others use.
  package final func invalidate() { connection = nil }

  /// The dialect of the database, for the few statements that differ.
  package final var dialect: SQLDialect { get throws(StoreError) { try usable().dialect } }

  /// Returns all rows of a query, mapped.
  ///
  /// - Throws: `overloaded` if there are more than `rowsMax` rows; read such results in pages.
  public final func query<T>(
    _ sql: String, _ arguments: [SQLValue] = [], rowsMax: Int = ReadTransaction.rowsMax,
    _ map: (borrowing SQLRow) throws -> T
  ) throws -> [T] {
    var rows: [T] = []
    try forEach(sql, arguments) { row in
      guard rows.count < rowsMax else {
        throw StoreError(.overloaded, "a query returned more than \(rowsMax) rows; read it in pages")
      }
      rows.append(try map(row))
      return true
    }
    return rows
  }

  /// Returns the first row of a query, mapped; nil if there is none.
  public final func queryOne<T>(
    _ sql: String, _ arguments: [SQLValue] = [], _ map: (borrowing SQLRow) throws -> T
  ) throws -> T? {
    var found: T?
    try forEach(sql, arguments) { row in
      found = try map(row)
      return false
    }
    return found
  }

  public final func queryOne<T>(_ query: SQLQuery, _ map: (borrowing SQLRow) throws -> T) throws -> T? {
    try queryOne(query.sql, query.arguments, map)
  }

  /// Calls `body` with each row until it returns false. For results that do not fit into memory.
  public final func forEach(
    _ sql: String, _ arguments: [SQLValue] = [], _ body: (borrowing SQLRow) throws -> Bool
  ) throws {
    try usable().forEachRow(sql, arguments, allowed: allowed, body)
  }

  final func usable() throws(StoreError) -> any StoreConnection {
    guard let connection else {
      throw StoreError(.invalidArgument, "the transaction was used after its body returned")
    }
    return connection
  }
}

@available(*, unavailable)
extension ReadTransaction: Sendable {}

/// Queries and changes inside one write. Several writes share a commit, but each is rolled back individually.
public final class WriteTransaction: ReadTransaction {
  /// Whether the changes can be undone without those of earlier writes in the same commit. If so, the body must not
  /// leave anything behind for `StoreConfiguration.beforeCommit`.
  public let usesSavepoint: Bool

  init(_ connection: any StoreConnection, usesSavepoint: Bool) {
    self.usesSavepoint = usesSavepoint
    super.init(connection, .writing)
  }

  /// Runs an INSERT, UPDATE or DELETE.
  ///
  /// A server's engine sends it without waiting. Its failure is then thrown by a later statement or by the commit, and
  /// fails this write only.
  public func execute(_ sql: String, _ arguments: [SQLValue] = []) throws { try usable().execute(sql, arguments) }

  /// Runs an INSERT, UPDATE or DELETE that must change at least one row, and otherwise throws `error`. Like `execute`,
  /// it does not wait for a server.
  public func execute(_ sql: String, _ arguments: [SQLValue] = [], orThrow error: StoreError) throws {
    try usable().execute(sql, arguments, orThrow: error)
  }

  /// Runs an INSERT, UPDATE or DELETE and returns the number of changed rows. On a server, this waits for an answer.
  public func executeCounting(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int {
    try usable().executeCounting(sql, arguments)
  }
}
