import CampanileStore

extension PostgreSQLConnection {
  /// Throws without asking the server, which would refuse the statement.
  func refuseIfAborted() throws(StoreError) {
    if let lost = session.lost { throw lost }
    guard let abortedBy else { return }
    // The body has hidden the error, so the transaction must be run again.
    if deferredFailure == nil { deferredFailure = abortedBy }
    throw abortedBy
  }

  /// Waits for all answers.
  ///
  /// - Throws: The first failure, which may be that of an earlier statement.
  func settle() throws(StoreError) {
    try session.waitForAll()
    if let failure = session.takeFailure() { throw note(failure) }
  }

  /// Records the failure of a statement and returns its error.
  func note(_ failure: ServerFailure) -> StoreError {
    changeMark += 1
    let error = failure.error
    switch failure.command.kind {
    case .follow where error.engineCode == "22012":
      return overtaken()
    case .begin, .lane, .follow:
      // Without its lane, the whole transaction is lost.
      return session.end(
        with: StoreError(.unavailable, Self.explainLane(failure), path: place, engineCode: error.engineCode))
    default: break
    }
    if error.engineCode == "0A000" || error.engineCode == "26000" { forgetStatements() }
    if role == .reader, error.engineCode == "25006" {
      // A fault of the statement, not of the connection.
      abortedBy = stage == .open ? error : nil
      return StoreError(.invalidArgument, "a read cannot change anything: \(error.message)", path: place)
    }
    guard stage == .open else { return error }
    abortedBy = error
    // Its own waiting statement's failure belongs to one write. No write has caused a stale plan, so all run again.
    let isOwn = failure.command.isWanted || failure.command.kind == .prepare || failure.command.kind == .check
    if !isOwn || error.engineCode == "0A000" || error.engineCode == "26000" { deferredFailure = error }
    return error
  }

  private static func explainLane(_ failure: ServerFailure) -> String {
    switch failure.error.engineCode {
    case "55P03": "another writer has held the lane for too long"
    case "22012": "the session was replaced by another one"
    case "25006": "the server has become a standby"
    default: failure.error.message
    }
  }

  /// Adds the address to an error that was found before anything was sent.
  func explain(_ error: StoreError) -> StoreError {
    var error = error
    if error.path == nil { error.path = place }
    return error
  }
}
