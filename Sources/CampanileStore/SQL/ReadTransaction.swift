/// Queries inside one read, or inside a write (`WriteTransaction` is one too).
///
/// SQL is the subset that SQLite ≥ 3.40 and PostgreSQL ≥ 15 both run: `$1` placeholders, `ON CONFLICT`, `RETURNING`,
/// integers for times in milliseconds, JSON as text. Valid inside the body it is given to; used later it throws
/// `StoreError.invalidArgument`.
public class ReadTransaction {
  /// Rows that `query` collects when no limit is given.
  public static let rowsMax = 10_000

  private var connection: SQLConnection?
  fileprivate let allowed: StatementKinds

  init(_ connection: SQLConnection, _ allowed: StatementKinds) {
    self.connection = connection
    self.allowed = allowed
  }

  /// Ends the object's life: what a body kept of it must not touch a connection that others use.
  final func invalidate() { connection = nil }

  /// All rows of a query, mapped.
  ///
  /// Throws `overloaded` when there are more than `rowsMax` rows: page the query instead.
  public final func query<T>(
    _ sql: String, _ arguments: [SQLValue] = [], rowsMax: Int = ReadTransaction.rowsMax,
    _ map: (borrowing SQLRow) throws -> T
  ) throws -> [T] {
    var rows: [T] = []
    try forEach(sql, arguments) { row in
      guard rows.count < rowsMax else {
        throw StoreError(.overloaded, "a query returned more than \(rowsMax) rows: page it")
      }
      rows.append(try map(row))
      return true
    }
    return rows
  }

  /// The first row of a query, mapped; nil when there is none.
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

  /// Hands each row to `body` until it returns false. For results that are not to be held in memory.
  public final func forEach(
    _ sql: String, _ arguments: [SQLValue] = [], _ body: (borrowing SQLRow) throws -> Bool
  ) throws {
    try usable().forEachRow(sql, arguments, allowed: allowed, body)
  }

  final func usable() throws(StoreError) -> SQLConnection {
    guard let connection else {
      throw StoreError(.invalidArgument, "a transaction was used after its body had returned")
    }
    return connection
  }
}

@available(*, unavailable)
extension ReadTransaction: Sendable {}

/// Queries and changes inside one write. Several writes share a commit, each rolls back alone.
public final class WriteTransaction: ReadTransaction {
  /// Whether its changes can be undone without those of the writes before it in the same commit. Then nothing that waits for
  /// the commit (see `StoreConfiguration.beforeCommit`) may be left behind by its body.
  public let isUndoneAlone: Bool

  init(_ connection: SQLConnection, isUndoneAlone: Bool) {
    self.isUndoneAlone = isUndoneAlone
    super.init(connection, .writing)
  }

  /// Runs an INSERT, UPDATE or DELETE and returns how many rows it changed.
  @discardableResult
  public func execute(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int {
    let connection = try usable()
    try connection.forEachRow(sql, arguments, allowed: allowed) { _ in true }
    return connection.changes
  }
}
