import CPostgreSQL
import CampanileStore

extension Session {
  /// Waits until all commands are answered.
  func waitForAll() throws(StoreError) {
    if let lost { throw lost }
    if needsSync { try sync() }
    try wait { false }
  }

  /// Waits until a query asked ahead is answered, or has failed.
  func wait(for answer: AheadAnswer) throws(StoreError) {
    try wait { answer.rows != nil }
  }

  /// Waits until a condition holds or all commands are answered.
  private func wait(until isOver: () -> Bool) throws(StoreError) {
    takeAvailable()
    var isCounted = false
    while !commands.isEmpty, !isOver() {
      if let lost { throw lost }
      if !isCounted { counters.addRoundTrip() }
      isCounted = true
      try waitForSocket(orWritable: try hasUnsentBytes())
      takeAvailable()
    }
    if let lost { throw lost }
  }

  /// Returns the next result of a stream, and waits for it. Nil after the last, or after a failure.
  func next(of stream: RowStream) throws(StoreError) -> OpaquePointer? {
    if needsSync { try sync() }
    takeAvailable()
    while true {
      if let result = stream.next() { return result }
      if let lost { throw lost }
      guard !commands.isEmpty else { return nil }
      if !stream.isCounted { counters.addRoundTrip() }
      stream.isCounted = true
      try waitForSocket(orWritable: try hasUnsentBytes())
      takeAvailable()
    }
  }

  /// Returns whether the connection still exists, as far as the kernel knows, and takes what has arrived.
  func isAlive() -> Bool {
    if lost != nil { return false }
    // Messages may precede the end of the connection.
    for _ in 0..<8 {
      guard isReadable else { return true }
      guard PQconsumeInput(handle) == 1 else {
        _ = end(message)
        return false
      }
      takeAvailable()
      if lost != nil { return false }
    }
    return true
  }

  /// Returns the result of the command that was wanted. The caller clears it.
  func takeWanted() -> OpaquePointer? {
    defer { wanted = nil }
    return wanted
  }

  func takeFailure() -> ServerFailure? {
    defer { failure = nil }
    return failure
  }

  /// Takes the results that libpq has parsed, without waiting.
  func takeAvailable() {
    while let command = commands.first, lost == nil {
      // If libpq refuses, the rows arrive as one result.
      if command.stream != nil, !hasResult { PQsetSingleRowMode(handle) }
      guard PQisBusy(handle) == 0 else { return }
      guard let result = PQgetResult(handle) else {
        // The end of a command's results. libpq reports the same for a connection that is lost.
        guard hasResult else {
          _ = end(message)
          return
        }
        hasResult = false
        commands.removeFirst()
        continue
      }
      hasResult = true
      take(result, of: command)
    }
  }

  private func take(_ result: OpaquePointer, of command: Command) {
    switch PQresultStatus(result) {
    case PGRES_PIPELINE_SYNC:
      hasResult = false
      commands.removeFirst()
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
      if command.kind == .commit {
        // A warning that arrives later is not about this commit.
        let tag = PQcmdStatus(result).map { String(cString: $0) } ?? ""
        commitAnswer = CommitAnswer(tag: tag, warning: notices.warning)
      }
      if let stream = command.stream { return stream.append(result) }
      if let answer = command.answer { return answer.set(result) }
      if command.isWanted {
        wanted = result
        return
      }
    case PGRES_SINGLE_TUPLE:
      if let stream = command.stream { return stream.append(result) }
    case PGRES_PIPELINE_ABORTED:
      break
    default:
      note(result, command)
    }
    PQclear(result)
  }

  private func note(_ result: OpaquePointer, _ command: Command) {
    guard let failure = ServerFailure(result, command, place: place) else {
      _ = end(PQresultErrorMessage(result).map { String(cString: $0) } ?? "")
      return
    }
    if failure.endsSession {
      _ = end(failure.error.message, engineCode: failure.error.engineCode)
    } else if self.failure == nil {
      self.failure = failure
    }
  }
}
