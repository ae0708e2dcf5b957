import GRDBSQLite

extension SQLiteConnection {
  func beginWriting() throws(StoreError) { try run("BEGIN IMMEDIATE") }
  func beginReading() throws(StoreError) { try run("BEGIN") }
  func beginMigrating() throws(StoreError) { try run("BEGIN IMMEDIATE") }
  func commit() throws(StoreError) { try run("COMMIT") }

  func rollBack() {
    if isInTransaction { try? run("ROLLBACK") }
  }

  func setSavepoint() throws(StoreError) { try run("SAVEPOINT w") }
  func releaseSavepoint() throws(StoreError) { try run("RELEASE w") }

  func rollBackToSavepoint() throws(StoreError) {
    try run("ROLLBACK TO w")
    try run("RELEASE w")
  }

  /// COMMIT checks deferred foreign keys, and would fail all writes for one violation. They are checked here instead.
  func endWrite(waits: Bool) throws(StoreError) {
    var open: Int32 = 0
    var highest: Int32 = 0
    guard sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &highest, 0) == SQLITE_OK else { return }
    guard open == 0 else { throw StoreError(.constraint, "a deferred foreign key is violated", path: path) }
  }

  /// False also after SQLite itself rolled a transaction back because of an I/O error.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
  /// Only one process has the file, and one connection writes.
  var continues: Bool { true }
  func confirmContinuation() {}
  var isOvertaken: Bool { false }
  var changeMark: Int64 { sqlite3_total_changes64(handle) }
  /// Every failure is thrown by the statement that failed.
  var hasDeferredFailure: Bool { false }
}
