import CampanileStore

extension PostgreSQLConnection {
  var asksAhead: Bool { true }

  func askAhead(_ queries: [SQLQuery]) {
    guard session.lost == nil, abortedBy == nil else { return }
    do throws(StoreError) {
      var hasAsked = false
      for query in queries where answers[query] == nil {
        answers[query] = try ask(query)
        hasAsked = true
        // The sync follows at once.
        try session.sendIfWorthwhile(isEarly: false)
      }
      // The server answers at a sync only.
      if hasAsked { try session.sync() }
    } catch {
      // The write itself finds the same failure.
    }
  }

  private func ask(_ query: SQLQuery) throws(StoreError) -> AheadAnswer {
    let command = try statement(query.sql, .reading)
    let answer = AheadAnswer(command.columns)
    try send(command, query.arguments, Command(kind: .statement, answer: answer))
    return answer
  }

  func forgetAnswers(to queries: [SQLQuery]) {
    for query in queries { answers[query] = nil }
  }

  func forgetAnswers() {
    if !answers.isEmpty { answers = [:] }
  }

  /// Returns the rows of a query that was asked ahead, and waits for them. Nil if it must be asked now.
  func answer(to sql: String, _ arguments: [SQLValue]) throws(StoreError) -> ResultRows? {
    guard !answers.isEmpty, let answer = answers[SQLQuery(sql, arguments)] else { return nil }
    try session.wait(for: answer)
    if let failure = session.takeFailure() { throw note(failure) }
    return answer.rows
  }
}
