import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  func watchStart(resumeToken: String, bucketID: String?, user: String) throws -> ResumeToken {
    let token = resumeToken.isEmpty ? nil : try ResumeToken(resumeToken, user: user)
    return try read { transaction in
      let start = try ChangeLogTable.start(resumeToken: resumeToken, epoch: epoch, user: user, transaction)
      if let bucketID { try checkWatched(bucketID, since: token, user: user, transaction) }
      return start
    }
  }

  func changes(after token: ResumeToken, user: String, rowsMax: Int) throws -> [NotificationChange] {
    try read { transaction in
      try ChangeLogTable.checkRetained(token, user: user, transaction)
      let changes = try transaction.query(
        NotificationChangeLog.ofUserSQL, [.text(user), .integer(token.sequence), .int(rowsMax)],
        rowsMax: max(0, rowsMax),
        NotificationChangeLog.change)
      return try changes.map { try $0.completed(user: user, transaction) }
    }
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

extension NotificationChange {
  /// Returns the change with the current notification that it refers to.
  func completed(user: String, _ transaction: ReadTransaction) throws -> NotificationChange {
    guard kind == .notificationCreated || kind == .notificationUpdated else { return self }
    var change = self
    change.notification = try transaction.queryOne(
      SQLiteNotificationsRepository.notificationSQL, [.text(user), .text(notificationID)],
      NotificationRow.notification)
    return change
  }
}
