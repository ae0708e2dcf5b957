import GRDBSQLite

/// One transaction that carries many writes. Used by the writer's thread alone.
///
/// Writes join it without savepoints, which would cost as much as a small write does. One that fails before it has changed
/// anything leaves nothing to undo. One that fails later takes the transaction back to its beginning: the writes that
/// had joined run once more, and every further one gets a savepoint, so that faulty writes cannot repeat this.
struct BatchTransaction {
  let connection: SQLConnection
  /// Writes whose changes the transaction holds, to be told after the commit.
  private(set) var joined: [PendingWrite] = []
  /// Writes whose own body failed, with their errors; the others are not touched by it.
  private(set) var failed: [(PendingWrite, any Error)] = []
  private var usesSavepoints = false
  private let onBegin: (@Sendable () -> Void)?

  init(_ connection: SQLConnection, onBegin: (@Sendable () -> Void)?) throws(StoreError) {
    self.connection = connection
    self.onBegin = onBegin
    try connection.run("BEGIN IMMEDIATE")
    onBegin?()
  }

  /// Runs one write. Throws only when the transaction as a whole is lost, and then holds `item` neither in `joined`
  /// nor in `failed`.
  mutating func add(_ item: PendingWrite) throws(StoreError) {
    let hasSavepoint = usesSavepoints && !joined.isEmpty
    if hasSavepoint { try connection.run("SAVEPOINT w") }
    let changesBefore = sqlite3_total_changes64(connection.handle)
    do {
      let transaction = WriteTransaction(connection, isUndoneAlone: usesSavepoints)
      defer { transaction.invalidate() }
      try item.run(in: transaction)
      try checkForeignKeys()
    } catch {
      let hasChanged = sqlite3_total_changes64(connection.handle) != changesBefore
      return try undo(item, error, hasSavepoint: hasSavepoint, hasChanged: hasChanged)
    }
    // A body may swallow the error with which SQLite rolled everything back.
    guard !connection.isAutocommit else { throw lost(because: nil) }
    if hasSavepoint { try connection.run("RELEASE w") }
    joined.append(item)
  }

  /// Lets `body` add to what the writes did, once for all of them. A failure is that of the whole transaction.
  func complete(_ body: @Sendable (WriteTransaction) throws -> Void) throws(StoreError) {
    guard !joined.isEmpty else { return }
    let transaction = WriteTransaction(connection, isUndoneAlone: false)
    defer { transaction.invalidate() }
    do {
      try body(transaction)
    } catch {
      throw .from(error, path: connection.path)
    }
    guard !connection.isAutocommit else { throw lost(because: nil) }
  }

  func commit() throws(StoreError) { try connection.run("COMMIT") }

  /// Leaves the transaction, if it still stands. What cannot be rolled back now is by closing the connection.
  func rollBack() {
    if !connection.isAutocommit { try? connection.run("ROLLBACK") }
  }

  private mutating func undo(
    _ item: PendingWrite, _ error: any Error, hasSavepoint: Bool, hasChanged: Bool
  ) throws(StoreError) {
    let cause = error as? StoreError
    // With a full disk SQLite undoes the one statement; after other failures of the disk nothing is certain.
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

  /// Runs everything that had joined once more. What it throws leaves all of it in `joined`, to be told.
  private mutating func beginAnew() throws(StoreError) {
    try connection.run("ROLLBACK")
    try connection.run("BEGIN IMMEDIATE")
    onBegin?()
    let again = joined
    joined = []
    usesSavepoints = !again.isEmpty
    for (index, item) in again.enumerated() {
      do throws(StoreError) {
        try add(item)
      } catch {
        joined += again[index...]
        throw error
      }
    }
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
