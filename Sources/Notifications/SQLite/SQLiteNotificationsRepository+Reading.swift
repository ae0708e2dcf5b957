import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  static let notificationSQL = "SELECT \(NotificationRow.columns) FROM notifications WHERE user_id = $1 AND id = $2"

  /// The statement of a list, by user or by bucket, of all or only unread notifications. Newest first, because ids
  /// ascend with time.
  static func listSQL(ofBucket: Bool, isUnreadOnly: Bool) -> String {
    switch (ofBucket, isUnreadOnly) {
    case (false, false): ofUserSQL
    case (false, true): unreadOfUserSQL
    case (true, false): ofBucketSQL
    case (true, true): unreadOfBucketSQL
    }
  }

  private static let ofUserSQL = list("")
  private static let unreadOfUserSQL = list(" AND read_at_ms IS NULL")
  private static let ofBucketSQL = list(" AND bucket_id = $5")
  private static let unreadOfBucketSQL = list(" AND bucket_id = $5 AND read_at_ms IS NULL")

  private static func list(_ condition: String) -> String {
    """
    SELECT \(NotificationRow.columns) FROM notifications
    WHERE user_id = $1\(condition) AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4
    """
  }

  func notification(_ id: String, user: String) async throws -> Notification {
    let notification = try await readSingle { transaction in
      try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
    }
    guard let notification else { throw RPCError.notificationNotFound(id, field: "notificationId") }
    return notification
  }

  func notifications(
    _ query: NotificationQuery
  ) async throws -> (notifications: PageRows<Notification>, token: ResumeToken) {
    let sql = Self.listSQL(ofBucket: query.bucketID != nil, isUnreadOnly: query.isUnreadOnly)
    return try await read { transaction in
      let token = try present(transaction)
      var arguments: [SQLValue] = [
        .text(query.user), .text(query.lowerID), .text(query.upperID), .int(query.pageSize + 1),
      ]
      if let bucketID = query.bucketID {
        guard
          try transaction.queryOne(
            Self.bucketVersionSQL, [.text(query.user), .text(bucketID)], { try $0.integer(0) }) != nil
        else { throw RPCError.bucketNotFound(bucketID, field: "bucketId") }
        arguments.append(.text(bucketID))
      }
      var rows = PageRows<Notification>(countMax: query.pageSize)
      try transaction.forEach(sql, arguments) { row in
        let notification = try NotificationRow.notification(row)
        return rows.add(notification, sizeBytes: notification.sizeBytes)
      }
      return (rows, token)
    }
  }
}
