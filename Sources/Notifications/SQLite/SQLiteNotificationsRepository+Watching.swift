import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  func watchStart(resumeToken: String, bucketID: String?, user: String) async throws -> ResumeToken {
    try await read { try start(resumeToken: resumeToken, bucketID: bucketID, user: user, $0) }
  }

  func changes(after token: ResumeToken, user: String, rowsMax: Int) async throws -> [LoggedChange] {
    try await read { transaction in
      try ChangeLogTable.checkRetained(token, user: user, transaction)
      return try changes(after: token, user: user, rowsMax: rowsMax, transaction)
    }
  }

  func changes(_ query: ChangesQuery) async throws -> ChangesPage {
    try await read { transaction in
      let start = try start(
        resumeToken: query.resumeToken, bucketID: query.bucketID, user: query.user, transaction)
      var page = ChangesPage(start, query)
      if query.resumeToken.isEmpty { return page }
      // One row more shows whether others follow.
      let arguments: [SQLValue] = [.text(query.user), .integer(start.sequence), .int(query.pageSize + 1)]
      try transaction.forEach(NotificationChangeLog.ofUserSQL, arguments) { row in
        page.add(try NotificationChangeLog.change(row).completed(user: query.user, transaction))
      }
      return page
    }
  }

  private func changes(
    after token: ResumeToken, user: String, rowsMax: Int, _ transaction: ReadTransaction
  ) throws -> [LoggedChange] {
    let changes = try transaction.query(
      NotificationChangeLog.ofUserSQL, [.text(user), .integer(token.sequence), .int(rowsMax)],
      rowsMax: max(0, rowsMax), NotificationChangeLog.change)
    return try changes.map { try $0.completed(user: user, transaction) }
  }

  /// Returns the token of the present, for a list that is read in the same snapshot.
  func present(_ transaction: ReadTransaction) throws -> ResumeToken {
    ResumeToken(epoch: epoch, sequence: try transaction.lastChange())
  }

  private func start(
    resumeToken: String, bucketID: String?, user: String, _ transaction: ReadTransaction
  ) throws -> ResumeToken {
    let token = resumeToken.isEmpty ? nil : try ResumeToken(resumeToken, user: user)
    let start = try ChangeLogTable.start(resumeToken: resumeToken, epoch: epoch, user: user, transaction)
    if let bucketID { try checkWatched(bucketID, since: token, user: user, transaction) }
    return start
  }

  /// Checks that a watched bucket exists or has changes after the token; its deletion is such a change.
  private func checkWatched(
    _ id: String, since token: ResumeToken?, user: String, _ transaction: ReadTransaction
  ) throws {
    if try transaction.queryOne(Self.bucketVersionSQL, [.text(user), .text(id)], { try $0.integer(0) }) != nil {
      return
    }
    if let token {
      let arguments: [SQLValue] = [.text(user), .integer(token.sequence), .text(id)]
      if try transaction.queryOne(NotificationChangeLog.ofBucketSQL, arguments, { try $0.integer(0) }) != nil { return }
    }
    throw RPCError.bucketNotFound(id, field: "bucketId")
  }
}

extension ReadTransaction {
  /// The sequence of the latest change of all users.
  func lastChange() throws -> Int64 { try queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0 }
}

extension LoggedChange {
  /// Returns the change with the current notification or bucket that it refers to.
  func completed(user: String, _ transaction: ReadTransaction) throws -> LoggedChange {
    var change = self
    switch kind {
    case .notificationCreated, .notificationUpdated:
      change.notification = try transaction.queryOne(
        SQLiteNotificationsRepository.notificationSQL, [.text(user), .text(notificationID)],
        NotificationRow.notification)
    case .bucketCreated, .bucketUpdated:
      change.bucket = try transaction.queryOne(
        SQLiteNotificationsRepository.bucketSQL, [.text(user), .text(bucketID)], BucketRow.bucket)
    case .notificationDeleted, .bucketDeleted, .markedRead: break
    }
    return change
  }
}
