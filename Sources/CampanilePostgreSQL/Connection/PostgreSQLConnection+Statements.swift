import CPostgreSQL
import CampanileStore

extension PostgreSQLConnection {
  func forEachRow(
    _ sql: String, _ arguments: [SQLValue], allowed: StatementKinds, _ body: (borrowing SQLRow) throws -> Bool
  ) throws {
    if let rows = try answer(to: sql, arguments) {
      try rows.forEach(body)
      return
    }
    let stream = RowStream()
    let (command, first) = try retrying { () throws(StoreError) in
      let command = try statement(sql, allowed)
      try send(command, arguments, Command(kind: .statement, isWanted: true, stream: stream))
      return (command, try next(of: stream))
    }
    guard var result = first else { return }
    do {
      while true {
        guard try ResultRows(result, command.columns).forEach(body), let next = try next(of: stream) else { break }
        result = next
      }
    } catch {
      // The caller needs this error, not one of the remaining rows.
      stream.isAbandoned = true
      try? settle()
      throw error
    }
    stream.isAbandoned = true
    try settle()
  }

  /// Returns the next result of a stream.
  private func next(of stream: RowStream) throws(StoreError) -> OpaquePointer? {
    if let result = try session.next(of: stream) { return result }
    if let failure = session.takeFailure() { throw note(failure) }
    return nil
  }

  func executeCounting(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
    try rows(sql, arguments, .writing).changedCount
  }

  func execute(_ sql: String, _ arguments: [SQLValue]) throws { try execute(sql, arguments, missingRow: nil) }

  /// Makes the server itself refuse the change, because COMMIT may follow in the same message.
  func execute(_ sql: String, _ arguments: [SQLValue], orThrow error: StoreError) throws {
    try execute(sql, arguments, missingRow: error)
  }

  private func execute(_ sql: String, _ arguments: [SQLValue], missingRow: StoreError?) throws {
    guard stage != .none else {
      _ = try rows(sql, arguments, .writing, missingRow)
      return
    }
    do throws(StoreError) {
      let command = try statement(sql, .writing, mustChange: missingRow != nil)
      try send(command, arguments, Command(kind: .statement, missingRow: missingRow))
      try session.sendIfWorthwhile()
    } catch {
      throw explain(error)
    }
    if let failure = session.takeFailure() { throw note(failure) }
  }

  /// Runs a script of a migration, inside the transaction that is open.
  func runScript(_ sql: String) throws(StoreError) {
    if stage == .requested { try begin() }
    try settle()
    do throws(StoreError) {
      try session.runScript(sql)
    } catch {
      changeMark += 1
      if stage != .none { abortedBy = error }
      throw error
    }
    changeMark += 1
    if stage == .open, PQtransactionStatus(session.handle) == PQTRANS_IDLE { stage = .none }
  }

  func hasTable(_ name: String) throws -> Bool {
    try integer("SELECT to_regclass($1) IS NOT NULL", [.text(name)]) == 1
  }

  /// Runs a statement and waits for its result.
  private func rows(
    _ sql: String, _ arguments: [SQLValue], _ allowed: StatementKinds, _ missingRow: StoreError? = nil
  ) throws(StoreError) -> ResultRows {
    try retrying { () throws(StoreError) in
      let command = try statement(sql, allowed, mustChange: missingRow != nil)
      try send(command, arguments, Command(kind: .statement, isWanted: true, missingRow: missingRow))
      try settle()
      guard let result = session.takeWanted() else { throw session.end("a result is missing") }
      return ResultRows(result, command.columns)
    }
  }

  /// Runs the first statement of a read again if its connection had ended, or its plan is out of date.
  private func retrying<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
    let stageBefore = stage
    do throws(StoreError) {
      return try body()
    } catch {
      guard role == .reader, stageBefore != .open, mayRunAgain(after: error) else { throw explain(error) }
      stage = stageBefore
      abortedBy = nil
      opener.counters.addRetry()
      return try body()
    }
  }

  private func mayRunAgain(after error: StoreError) -> Bool {
    if session.lost != nil {
      guard !session.isSilent, let fresh = try? opener.open(role) else { return false }
      adopt(fresh)
      return true
    }
    // "cached plan must not change result type", or a statement that the server does not know any more.
    guard error.engineCode == "0A000" || error.engineCode == "26000" else { return false }
    if stage == .open { rollBack() }
    forgetStatements()
    return true
  }

  /// Sends a statement, after BEGIN if it is the transaction's first.
  func send(_ statement: PreparedCommand, _ arguments: [SQLValue], _ command: Command) throws(StoreError) {
    try parameters.fill(arguments, statement.parameters)
    if stage == .requested {
      try begin()
      // The server waits for the lane while the write continues. After a query, everything is sent at once anyway.
      if role == .writer, !command.isWanted, command.answer == nil { try session.flushEarly() }
    }
    try session.send(command, statement.name, parameters)
    if statement.changes { changeMark += 1 }
  }
}
