import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

extension SQLiteNotificationsRepository {
  func updateNotification(
    _ change: Notification, fields: [NotificationField], user: String
  ) async throws -> Notification {
    try await write { transaction in
      let found = try transaction.queryOne(
        Self.notificationSQL, [.text(user), .text(change.id)], NotificationRow.notification)
      guard let found else { throw RPCError.notificationNotFound(change.id, field: "notification.id") }
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "notification.etag", current: found.etag)
      }
      var notification = found
      for field in fields { field.copy(from: change, to: &notification) }
      guard notification != found else { return found }
      if notification.bucketId != found.bucketId { try move(found, to: notification.bucketId, user: user, transaction) }
      let nowMs = clockMs()
      let version = try transaction.queryOne(
        """
        UPDATE notifications SET bucket_id = $1, title = $2, subtitle = $3, body = $4, priority = $5, content_json = $6,
          updated_at_ms = $7, version = version + 1
        WHERE user_id = $8 AND id = $9 RETURNING version
        """,
        [
          .text(notification.bucketId), .text(notification.title), .text(notification.subtitle),
          .text(notification.body), .integer(Int64(notification.priority.rawValue)),
          .text(NotificationRow.contentJSON(notification)), .integer(nowMs), .text(user), .text(notification.id),
        ]
      ) { try $0.integer(0) }
      guard let version else { throw RPCError.notificationNotFound(change.id, field: "notification.id") }
      notification.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      notification.etag = Etag.text(version: version)
      let movedFrom = notification.bucketId == found.bucketId ? nil : found.bucketId
      try transaction.log(.notificationUpdated, notification, movedFrom: movedFrom, atMs: nowMs, user: user)
      return notification
    }
  }

  private func move(
    _ notification: Notification, to bucketID: String, user: String, _ transaction: WriteTransaction
  ) throws {
    let unread: Int64 = notification.readTime == nil ? 1 : 0
    guard try transaction.addToBucket(bucketID, CountChange(notifications: 1, unread: unread), user: user) else {
      throw RPCError.bucketNotFound(bucketID, field: "notification.bucketId")
    }
    let leaving = CountChange(notifications: -1, unread: -unread)
    guard try transaction.addToBucket(notification.bucketId, leaving, user: user) else {
      throw StoreError(.corrupt, "the bucket of a notification is missing")
    }
  }

  static let markSQL = """
    UPDATE notifications SET read_at_ms = $1, updated_at_ms = $2, version = version + 1
    WHERE user_id = $3 AND id = $4 RETURNING \(NotificationRow.columns)
    """

  func mark(_ ids: [String], isRead: Bool, user: String) async throws -> (changed: Int, counts: UnreadCounts) {
    try await write { transaction in
      var counts: [String: CountChange] = [:]
      var changed = 0
      let nowMs = clockMs()
      for (index, id) in ids.enumerated() {
        // Found by its own query first: nothing may change when a later one is missing, and those that are in the wanted
        // state already, doubles in the request included, are left alone.
        let found = try transaction.queryOne(Self.stateSQL, [.text(user), .text(id)]) { !$0.isNull(0) }
        guard let wasRead = found else {
          throw RPCError.notificationNotFound(id, field: "notificationIds[\(index)]")
        }
        if wasRead == isRead { continue }
        let marked = try transaction.queryOne(
          Self.markSQL, [isRead ? .integer(nowMs) : .null, .integer(nowMs), .text(user), .text(id)],
          NotificationRow.notification)
        guard let marked else { throw RPCError.notificationNotFound(id, field: "notificationIds[\(index)]") }
        try transaction.log(.notificationUpdated, marked, atMs: nowMs, user: user)
        counts[marked.bucketId, default: CountChange()] += CountChange(unread: isRead ? -1 : 1)
        changed += 1
      }
      try transaction.addCounts(counts, user: user)
      return (changed, try transaction.unreadCounts(user: user))
    }
  }

  static let stateSQL = "SELECT read_at_ms FROM notifications WHERE user_id = $1 AND id = $2"
  static let deleteSQL = "DELETE FROM notifications WHERE user_id = $1 AND id = $2 RETURNING bucket_id, read_at_ms"

  func deleteNotifications(_ ids: [String], user: String) async throws -> (deleted: Int, counts: UnreadCounts) {
    try await write { transaction in
      var counts: [String: CountChange] = [:]
      var deleted = 0
      let nowMs = clockMs()
      for id in ids {
        let row = try transaction.queryOne(Self.deleteSQL, [.text(user), .text(id)]) { row in
          (bucketID: try row.text(0), isRead: !row.isNull(1))
        }
        guard let row else { continue }
        try transaction.logDeletion(bucketID: row.bucketID, notificationID: id, atMs: nowMs, user: user)
        counts[row.bucketID, default: CountChange()] += CountChange(notifications: -1, unread: row.isRead ? 0 : -1)
        deleted += 1
      }
      try transaction.addCounts(counts, user: user)
      return (deleted, try transaction.unreadCounts(user: user))
    }
  }
}
