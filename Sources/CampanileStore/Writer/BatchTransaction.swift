import GRDBSQLite

/// A transaction that carries many writes. Used on the writer's thread only.
///
/// Writes join without savepoints, which would cost as much as a small write. A write that fails before it changes
/// anything leaves nothing to undo. A write that fails later restarts the transaction: the joined writes run again, and
/// every further write gets a savepoint, so that faulty writes cannot cause another restart.
struct BatchTransaction {
  let connection: SQLConnection
  /// Writes whose changes are in the transaction, to be acknowledged after the commit.
  private(set) var joined: [PendingWrite] = []
  /// Writes whose own body failed, with their errors. They do not affect the other writes.
  private(set) var failed: [(PendingWrite, any Error)] = []
  private var usesSavepoints = false
  private let onBegin: (@Sendable () -> Void)?

  init(_ connection: SQLConnection, onBegin: (@Sendable () -> Void)?) throws(StoreError) {
    self.connection = connection
    self.onBegin = onBegin
    try connection.run("BEGIN IMMEDIATE")
    onBegin?()
  }

  /// Runs one write.
  ///
  /// - Throws: Only if the whole transaction is lost. `item` is then neither in `joined` nor in `failed`.
  mutating func add(_ item: PendingWrite) throws(StoreError) {
    let hasSavepoint = usesSavepoints && !joined.isEmpty
    if hasSavepoint { try connection.run("SAVEPOINT w") }
    let changesBefore = sqlite3_total_changes64(connection.handle)
    do {
      let transaction = WriteTransaction(connection, usesSavepoint: usesSavepoints)
      defer { transaction.invalidate() }
      try item.run(in: transaction)
      try checkForeignKeys()
    } catch {
      let hasChanged = sqlite3_total_changes64(connection.handle) != changesBefore
      return try undo(item, error, hasSavepoint: hasSavepoint, hasChanged: hasChanged)
    }
    // A body may hide the error with which SQLite rolled everything back.
    guard !connection.isAutocommit else { throw lost(because: nil) }
    if hasSavepoint { try connection.run("RELEASE w") }
    joined.append(item)
  }

  /// Runs `body` once for all joined writes. Its failure fails the whole transaction.
  func complete(_ body: @Sendable (WriteTransaction) throws -> Void) throws(StoreError) {
    guard !joined.isEmpty else { return }
    let transaction = WriteTransaction(connection, usesSavepoint: false)
    defer { transaction.invalidate() }
    do {
      try body(transaction)
    } catch {
      throw .from(error, path: connection.path)
    }
    guard !connection.isAutocommit else { throw lost(because: nil) }
  }

  func commit() throws(StoreError) { try connection.run("COMMIT") }

  /// Rolls the transaction back if it is still open. If that fails, closing the connection does it.
  func rollBack() {
    if !connection.isAutocommit { try? connection.run("ROLLBACK") }
  }

  private mutating func undo(
    _ item: PendingWrite, _ error: any Error, hasSavepoint: Bool, hasChanged: Bool
  ) throws(StoreError) {
    let cause = error as? StoreError
    // On a full disk SQLite undoes the single statement; after other disk failures the state is unknown.
    if let cause, cause.discredits, cause.code != .diskFull { throw cause }
    guard !connection.isAutocommit else { throw lost(because: cause) }
    if hasSavepoint {
      try connection.run("ROLLBACK TO w")
      try connection.run("RELEASE w")
    } else if hasChanged {
      try beginAnew()
    }
    failed.append((item, error))
  }

  /// Runs all joined writes again. If that throws, all of them are in `joined`, to be notified.
  private mutating func beginAnew() throws(StoreError) {
    try connection.run("ROLLBACK")
    try connection.run("BEGIN IMMEDIATE")
    onBegin?()
    let again = joined
    joined = []
    // A write that fails in its second run, when nothing has joined yet, must not clear this.
    if !again.isEmpty { usesSavepoints = true }
    for (index, item) in again.enumerated() {
      do throws(StoreError) {
        try add(item)
      } catch {
        joined += again[index...]
        throw error
      }
    }
  }

  /// COMMIT checks deferred foreign keys, and would fail all writes for one violation. Check after each body instead.
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
