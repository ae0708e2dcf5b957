import GRDBSQLite

/// One transaction that carries many writes. Used by the writer's thread alone.
///
/// The first write of a transaction needs no savepoint: where it fails, the whole transaction holds nothing else and
/// is begun anew. Every later one gets its own.
struct BatchTransaction {
  let connection: SQLConnection
  /// Writes whose changes the transaction holds, to be told after the commit.
  private(set) var joined: [PendingWrite] = []
  /// Writes whose own body failed, with their errors; the others are not touched by it.
  private(set) var failed: [(PendingWrite, any Error)] = []

  init(_ connection: SQLConnection) throws(StoreError) {
    self.connection = connection
    try connection.run("BEGIN IMMEDIATE")
  }

  /// Runs one write. Throws only when the transaction as a whole is lost, and then holds `item` neither in `joined`
  /// nor in `failed`.
  mutating func add(_ item: PendingWrite) throws(StoreError) {
    let needsSavepoint = !joined.isEmpty
    if needsSavepoint { try connection.run("SAVEPOINT w") }
    let transaction = WriteTransaction(connection, .writing)
    defer { transaction.invalidate() }
    do {
      try item.run(in: transaction)
      try checkForeignKeys()
    } catch {
      try undo(item, error, needsSavepoint)
      return
    }
    // A body may swallow the error with which SQLite rolled everything back.
    guard !connection.isAutocommit else { throw lost(because: nil) }
    if needsSavepoint { try connection.run("RELEASE w") }
    joined.append(item)
  }

  func commit() throws(StoreError) { try connection.run("COMMIT") }

  /// Leaves the transaction, if it still stands. What cannot be rolled back now is by closing the connection.
  func rollBack() {
    if !connection.isAutocommit { try? connection.run("ROLLBACK") }
  }

  private mutating func undo(_ item: PendingWrite, _ error: any Error, _ hasSavepoint: Bool) throws(StoreError) {
    let cause = error as? StoreError
    // With a full disk SQLite undoes the one statement; after other failures of the disk nothing is certain.
    if let cause, cause.discredits, cause.code != .diskFull { throw cause }
    guard !connection.isAutocommit else { throw lost(because: cause) }
    if hasSavepoint {
      try connection.run("ROLLBACK TO w")
      try connection.run("RELEASE w")
    } else {
      try connection.run("ROLLBACK")
      try connection.run("BEGIN IMMEDIATE")
    }
    failed.append((item, error))
  }

  /// Deferred foreign keys are checked by COMMIT, where one write's fault would fail all: so ask after each body.
  private func checkForeignKeys() throws(StoreError) {
    var open: Int32 = 0
    var highest: Int32 = 0
    guard sqlite3_db_status(connection.handle, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &highest, 0) == SQLITE_OK else {
      return
    }
    guard open == 0 else {
      throw StoreError(.constraint, "a deferred foreign key is violated", path: connection.path)
    }
  }

  private func lost(because cause: StoreError?) -> StoreError {
    if let cause { return cause }
    return .sqlite(SQLITE_ABORT, "SQLite rolled the transaction back", path: connection.path)
  }
}
