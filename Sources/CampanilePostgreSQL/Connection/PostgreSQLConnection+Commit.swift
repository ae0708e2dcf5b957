import CPostgreSQL
import CampanileStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension PostgreSQLConnection {
  /// Commits, in the same message as the statements before it.
  ///
  /// If the connection is lost before the answer, the outcome is looked up.
  func commit() throws(StoreError) {
    // Without a statement, only the lane shows whether something has changed since.
    if stage == .requested, continues { try begin() }
    guard stage == .open else { return endTransaction() }
    guard role == .writer else { return try endReading() }
    try refuseIfAborted()
    do throws(StoreError) {
      try session.commit()
      try session.waitForAll()
    } catch {
      try judgeLoss(error)
      return
    }
    if let failure = session.takeFailure() { throw failedCommit(failure) }
    try judgeTag()
  }

  /// Ends a read. Nothing depends on the answer, so it is taken with that of the next statement.
  private func endReading() throws(StoreError) {
    defer { endTransaction() }
    if session.lost != nil { return }
    if session.needsSync { try session.sync() }
    try control(abortedBy == nil ? .commit : .rollBack, .rollBack)
    try session.sync()
    try session.flush()
  }

  /// A failed COMMIT has ended the transaction; a failed statement before it has not.
  private func failedCommit(_ failure: ServerFailure) -> StoreError {
    let error = note(failure)
    if failure.command.kind == .commit { stage = .none }
    return error
  }

  private func judgeTag() throws(StoreError) {
    if let answer = session.commitAnswer, answer.tag == "COMMIT" {
      endTransaction()
      lane.committed()
      guard let warning = answer.warning else { return }
      throw StoreError(
        .unavailable, "the commit is not confirmed by the standby: \(warning)", path: place, engineCode: "01000")
    }
    // The server has rolled back a transaction that had failed.
    let error = StoreError(.unavailable, "the server rolled the transaction back", path: place)
    endTransaction()
    deferredFailure = error
    throw error
  }

  /// Determines the outcome of a commit whose session was lost.
  private func judgeLoss(_ cause: StoreError) throws(StoreError) {
    if session.commitAnswer != nil { return try judgeTag() }
    // A failure before it made the server skip the COMMIT.
    if let failure = session.takeFailure(), failure.command.kind != .commit {
      endTransaction()
      throw cause
    }
    let number = session.number
    session.finish()
    let end = ContinuousClock.now + .milliseconds(opener.limits.outcomeMsMax)
    var pauseMs: UInt32 = 20
    repeat {
      if let lastToken = try? lookUp(number) {
        endTransaction()
        guard lastToken != token else { return opener.counters.addRecoveredCommit() }
        opener.counters.addLostCommit()
        throw StoreError(
          cause.code, "\(cause.message); the transaction was not committed", path: place, engineCode: cause.engineCode)
      }
      usleep(pauseMs * 1_000)
      pauseMs = min(2 * pauseMs, 500)
    } while ContinuousClock.now < end
    endTransaction()
    opener.counters.addLostCommit()
    throw StoreError(
      .unavailable, "\(cause.message); whether the transaction was committed is unknown", path: place,
      engineCode: "08007")
  }

  /// Opens a new session and fences a lost one.
  ///
  /// The lane's lock waits for the lost session's transaction if the server has begun it. If not, the fence stops it:
  /// its messages may still be on their way.
  ///
  /// - Returns: The token of the lost session's last commit.
  private func lookUp(_ lostNumber: Int64) throws -> Int64 {
    let fresh = try opener.open(.writer)
    var token: Int64?
    try fresh.send(Command(kind: .begin), ControlStatement.beginWriting.name)
    try fresh.ask(LaneSchema.lockLane) { _ in }
    try fresh.ask(LaneSchema.fence(session: lostNumber)) { token = try $0.integer(0) }
    try fresh.commit()
    try fresh.waitForAll()
    if let failure = fresh.takeFailure() { throw failure.error }
    guard let token, fresh.commitAnswer?.tag == "COMMIT", fresh.commitAnswer?.warning == nil else {
      throw fresh.end("the lost session is not known")
    }
    adopt(fresh)
    return token
  }
}
