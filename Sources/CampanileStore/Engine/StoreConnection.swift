/// A connection to a database, with one user at a time: the writer's thread, or one reader.
package protocol StoreConnection: AnyObject, Sendable {
  /// The database in messages.
  var place: String { get }
  var dialect: SQLDialect { get }

  /// Runs one statement and calls `body` with each row until it returns false.
  ///
  /// - Throws: `invalidArgument` if the statement is not of the `allowed` kinds.
  func forEachRow(
    _ sql: String, _ arguments: [SQLValue], allowed: StatementKinds, _ body: (borrowing SQLRow) throws -> Bool
  ) throws
  /// Runs a change. An engine may send it without waiting, and report its failure at a later call: see
  /// `hasDeferredFailure`.
  func execute(_ sql: String, _ arguments: [SQLValue]) throws
  /// Runs a change and returns the number of changed rows.
  func executeCounting(_ sql: String, _ arguments: [SQLValue]) throws -> Int
  /// Runs a change that must change at least one row, and otherwise throws `error`, possibly later as `execute`.
  func execute(_ sql: String, _ arguments: [SQLValue], orThrow error: StoreError) throws
  /// Whether `askAhead` does anything.
  var asksAhead: Bool { get }
  /// Sends queries that the writes of the open transaction will run. Their failures are reported as those of `execute`.
  func askAhead(_ queries: [SQLQuery])
  /// Discards the answers to queries asked ahead, because a write may have changed what they read.
  func forgetAnswers(to queries: [SQLQuery])
  func forgetAnswers()
  /// Runs several statements without arguments, for a migration.
  func runScript(_ sql: String) throws(StoreError)
  func hasTable(_ name: String) throws -> Bool

  /// Begins the writer's transaction. No other writer changes the database until it ends.
  func beginWriting() throws(StoreError)
  /// Begins a transaction whose queries all see one state of the database.
  func beginReading() throws(StoreError)
  /// Begins a read of a pool. An engine may keep its snapshot for the next one.
  ///
  /// - Parameters:
  ///   - isSingle: Whether each query may see a state of its own.
  ///   - mark: A number that changes with every write; nil during one.
  func beginRead(isSingle: Bool, mark: Int?) throws(StoreError)
  /// Ends a read of a pool.
  func endRead(isSingle: Bool, mark: Int?)
  /// Ends the snapshot of the last read, if the engine has kept it.
  func endSnapshot()
  /// Begins the transaction of a migration.
  func beginMigrating() throws(StoreError)
  func commit() throws(StoreError)
  /// Undoes the transaction if one is open. If that fails, closing the connection does it.
  func rollBack()
  func setSavepoint() throws(StoreError)
  func releaseSavepoint() throws(StoreError)
  /// Undoes all changes since the savepoint and releases it.
  func rollBackToSavepoint() throws(StoreError)
  /// Ends one of several writes in a transaction: checks what an engine would check at the commit only.
  ///
  /// - Parameter waits: Whether to wait for all results, so that each failure belongs to the write that ends.
  func endWrite(waits: Bool) throws(StoreError)

  /// Whether the transaction begins with what this connection has committed last, so that what the caller remembers of
  /// that is still true. An engine may be wrong about it. It then reports a deferred failure, at the commit at the
  /// latest, and does not continue when the transaction begins anew.
  var continues: Bool { get }
  /// Waits until it is certain that the transaction `continues`, before a result that would not be committed.
  func confirmContinuation()
  /// Whether the deferred failure is just that another process has committed.
  var isOvertaken: Bool { get }
  /// Whether a transaction is open. False after the engine itself ended one.
  var isInTransaction: Bool { get }
  /// A number that differs after every change and every failed statement.
  var changeMark: Int64 { get }
  /// Whether a statement sent earlier in this transaction has failed, possibly of another write.
  var hasDeferredFailure: Bool { get }

  func close() throws(StoreError)
}

extension StoreConnection {
  package func beginRead(isSingle: Bool, mark: Int?) throws(StoreError) {
    if !isSingle { try beginReading() }
  }

  package func endRead(isSingle: Bool, mark: Int?) {
    if !isSingle { try? commit() }
  }

  package func endSnapshot() {}

  /// Runs one statement to its end and ignores its rows.
  package func run(_ sql: String, _ arguments: [SQLValue] = []) throws(StoreError) {
    do {
      try forEachRow(sql, arguments, allowed: .all) { _ in true }
    } catch {
      throw .from(error, path: place)
    }
  }

  /// Returns the first column of the first row as an integer.
  package func integer(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int64? {
    var found: Int64?
    try forEachRow(sql, arguments, allowed: .all) { row in
      found = try row.integerIfPresent(0)
      return false
    }
    return found
  }

  /// Returns the error for a statement of a kind that is not allowed.
  package func refusedKind(_ allowed: StatementKinds) -> StoreError {
    StoreError(
      .invalidArgument, "only \(allowed.names) are allowed; the store begins and ends transactions itself", path: place)
  }
}
