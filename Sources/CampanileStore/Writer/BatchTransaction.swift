/// A transaction that carries many writes. Used on the writer's thread only.
///
/// Writes join without savepoints, which would cost as much as a small write. A write that fails before it changes
/// anything leaves nothing to undo. A write that fails later restarts the transaction: the joined writes run again, and
/// every further write gets a savepoint, so that faulty writes cannot cause another restart. The same happens when an
/// engine reports late that a statement failed, because it may be any write's. If the only cause is a commit of another
/// process in the meantime, they run again without savepoints.
struct BatchTransaction {
  let connection: any StoreConnection
  /// Writes whose changes are in the transaction, to be acknowledged after the commit.
  private(set) var joined: [PendingWrite] = []
  /// Writes whose own body failed, with their errors. They do not affect the other writes.
  private(set) var failed: [(PendingWrite, any Error)] = []
  /// The number of times that the transaction was rolled back and begun again.
  private(set) var restarts = 0
  private var usesSavepoints = false
  /// The number of next writes whose queries were asked, or will run without.
  private var askedCount = 0
  private let onBegin: (@Sendable (Bool) -> Void)?

  init(_ connection: any StoreConnection, onBegin: (@Sendable (Bool) -> Void)?) throws(StoreError) {
    self.connection = connection
    self.onBegin = onBegin
    try connection.beginWriting()
    onBegin?(connection.continues)
  }

  /// Sends the first queries of a write and of those that follow it, up to the first one whose queries are not known.
  ///
  /// Call before every `add`. After a restart, writes run one by one, and their queries with them.
  mutating func askAhead(_ item: PendingWrite, _ following: ArraySlice<PendingWrite>) {
    if askedCount > 0 { return askedCount -= 1 }
    guard connection.asksAhead, !usesSavepoints, let first = item.ahead else { return }
    var queries = first.unknownQueries
    var subjects: Set<String> = first.subject.map { [$0] } ?? []
    for next in following {
      guard let ahead = next.ahead else { break }
      askedCount += 1
      // An earlier one with the same subject will have changed what this one reads.
      if let subject = ahead.subject, !subjects.insert(subject).inserted { continue }
      queries += ahead.unknownQueries
    }
    connection.askAhead(queries)
  }

  /// Runs one write.
  ///
  /// - Throws: Only if the whole transaction is lost. `item` is then not in `failed`, but may be in `joined`.
  mutating func add(_ item: PendingWrite) throws(StoreError) {
    let hasSavepoint = usesSavepoints && !joined.isEmpty
    if hasSavepoint { try connection.setSavepoint() }
    let markBefore = connection.changeMark
    defer { forgetAnswers(after: item) }
    do {
      let transaction = WriteTransaction(connection, usesSavepoint: usesSavepoints)
      defer { transaction.invalidate() }
      try item.run(in: transaction)
      try connection.endWrite(waits: usesSavepoints)
    } catch {
      // The cause may be something that another process has changed since.
      if connection.continues { connection.confirmContinuation() }
      if connection.hasDeferredFailure, !usesSavepoints { return try beginAnew(with: item) }
      let hasChanged = connection.changeMark != markBefore
      return try undo(item, error, hasSavepoint: hasSavepoint, hasChanged: hasChanged)
    }
    // A body may hide an error, after which the engine has rolled everything back or refuses every statement.
    if connection.hasDeferredFailure, !usesSavepoints { return try beginAnew(with: item) }
    guard connection.isInTransaction else { throw lost(because: nil) }
    if hasSavepoint { try connection.releaseSavepoint() }
    joined.append(item)
  }

  /// Runs `completion` once for all joined writes, then `willCommit`, and commits. A failure fails all of them.
  mutating func finish(
    _ completion: (@Sendable (WriteTransaction) throws -> Void)?, _ willCommit: () throws(StoreError) -> Void
  ) throws(StoreError) {
    while true {
      do throws(StoreError) {
        try complete(completion)
        try willCommit()
        return try connection.commit()
      } catch {
        guard connection.hasDeferredFailure, !usesSavepoints else { throw error }
        try beginAnew(with: nil)
      }
    }
  }

  private func complete(_ body: (@Sendable (WriteTransaction) throws -> Void)?) throws(StoreError) {
    guard let body, !joined.isEmpty else { return }
    let transaction = WriteTransaction(connection, usesSavepoint: false)
    defer { transaction.invalidate() }
    do {
      try body(transaction)
    } catch {
      throw .from(error, path: connection.place)
    }
    guard connection.isInTransaction else { throw lost(because: nil) }
  }

  func rollBack() { connection.rollBack() }

  private mutating func undo(
    _ item: PendingWrite, _ error: any Error, hasSavepoint: Bool, hasChanged: Bool
  ) throws(StoreError) {
    let cause = error as? StoreError
    // On a full disk SQLite undoes the single statement; after other disk failures the state is unknown.
    if let cause, cause.discredits, cause.code != .diskFull { throw cause }
    guard connection.isInTransaction else { throw lost(because: cause) }
    if hasSavepoint {
      try connection.rollBackToSavepoint()
    } else if hasChanged {
      try beginAnew(with: nil)
    }
    failed.append((item, error))
  }

  /// Runs all joined writes again, and then `item`. If that throws, all of them are in `joined`, to be notified.
  private mutating func beginAnew(with item: PendingWrite?) throws(StoreError) {
    if let item { joined.append(item) }
    restarts += 1
    let isOvertaken = connection.isOvertaken
    connection.rollBack()
    try connection.beginWriting()
    onBegin?(connection.continues)
    let again = joined
    joined = []
    // A write that fails in its second run, when nothing has joined yet, must not clear this.
    if !again.isEmpty, !isOvertaken { usesSavepoints = true }
    for (index, item) in again.enumerated() {
      do throws(StoreError) {
        try add(item)
      } catch {
        joined += again[index...]
        throw error
      }
    }
  }

  /// A write may have changed what its own queries read, and an unknown one what any query reads.
  private func forgetAnswers(after item: PendingWrite) {
    guard connection.asksAhead else { return }
    if let ahead = item.ahead { connection.forgetAnswers(to: ahead.queries) } else { connection.forgetAnswers() }
  }

  private func lost(because cause: StoreError?) -> StoreError {
    if let cause { return cause }
    return StoreError(
      .unavailable, "the engine rolled the transaction back", path: connection.place, engineCode: "rolled back")
  }
}
