import CPostgreSQL
import CampanileStore

extension PostgreSQLConnection {
  var isInTransaction: Bool { stage != .none && session.lost == nil }
  var hasDeferredFailure: Bool { deferredFailure != nil && session.lost == nil }

  /// Begins a transaction of the writer: BEGIN and the lock of the lane are sent with the first statement.
  func beginWriting() throws(StoreError) {
    try ensureAlive()
    try dropDiscarded()
    refreshCondition()
    if session.lost != nil { try ensureAlive() }
    request()
    lane.begin()
  }

  func beginReading() throws(StoreError) { request() }

  /// Begins a migration. It excludes the writers of all processes, waits for another migration, and may take its time.
  func beginMigrating() throws(StoreError) {
    lane = LanePosition()
    try beginWriting()
    session.silenceMsMax = opener.limits.migrationSilenceMsMax
    try begin(waitingForLocks: true)
    try settle()
  }

  private func request() {
    stage = .requested
    deferredFailure = nil
    abortedBy = nil
    changeMark += 1
  }

  func begin(waitingForLocks: Bool = false) throws(StoreError) {
    stage = .open
    guard role == .writer else { return try control(.beginReading, .begin) }
    token += 1
    try control(.beginWriting, .begin)
    if waitingForLocks { try session.send(Command(kind: .begin), text: "SET LOCAL lock_timeout = 0") }
    try takeLane()
  }

  func control(_ statement: ControlStatement, _ kind: Command.Kind) throws(StoreError) {
    try session.send(Command(kind: kind), statement.name)
  }

  /// Undoes the transaction. If that fails, the session ends, which undoes it as well.
  func rollBack() {
    defer {
      endTransaction()
      lane.rolledBack()
    }
    guard stage == .open, session.lost == nil else { return }
    do throws(StoreError) {
      // After a failure, the server skips everything before the next sync.
      if session.needsSync { try session.sync() }
      try control(.rollBack, .rollBack)
      try session.waitForAll()
      // Failures of earlier statements are undone as well.
      if let failure = session.takeFailure(), failure.command.kind == .rollBack { session.end(failure.error.message) }
    } catch {
      session.end(error.message)
    }
  }

  func endTransaction() {
    stage = .none
    deferredFailure = nil
    abortedBy = nil
    forgetAnswers()
    session.silenceMsMax = opener.limits.silenceMsMax
  }

  func setSavepoint() throws(StoreError) {
    try refuseIfAborted()
    if stage == .requested { try begin() }
    try control(.setSavepoint, .statement)
  }

  func releaseSavepoint() throws(StoreError) {
    try refuseIfAborted()
    try control(.releaseSavepoint, .statement)
  }

  func rollBackToSavepoint() throws(StoreError) {
    forgetAnswers()
    if session.needsSync { try session.sync() }
    try control(.rollBackToSavepoint, .rollBack)
    try control(.releaseSavepoint, .rollBack)
    try session.waitForAll()
    if let failure = session.takeFailure(), failure.command.kind == .rollBack { throw note(failure) }
    deferredFailure = nil
    abortedBy = nil
  }

  /// Ends one of several writes. With `waits`, also checks the constraints that COMMIT would check.
  func endWrite(waits: Bool) throws(StoreError) {
    if stage == .open, session.lost == nil { try refuseIfAborted() }
    guard waits, stage == .open else { return }
    try control(.checkConstraints, .check)
    try control(.deferConstraints, .check)
    try settle()
  }

  /// Asks for the server's state now and then, because metrics must not wait for the server.
  private func refreshCondition() {
    guard ContinuousClock.now >= sizeKnownUntil else { return }
    sizeKnownUntil = ContinuousClock.now + .milliseconds(opener.limits.sizeIntervalMs)
    // Metrics are not worth an error.
    try? session.ask(ServerCondition.query) { row in opener.counters.condition = try ServerCondition(row) }
  }
}
