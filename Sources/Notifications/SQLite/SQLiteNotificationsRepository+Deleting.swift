import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Deleted notifications move unchanged to a separate table, so that lists and counts do not have to filter them out.
extension SQLiteNotificationsRepository {
  static let removeSQL = "DELETE FROM notifications WHERE user_id = $1 AND id = $2"
  static let trashSQL = """
    INSERT INTO deleted_notifications (user_id, id, bucket_id, is_with_bucket, deleted_at_ms, payload)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (user_id, id) DO UPDATE SET bucket_id = excluded.bucket_id, is_with_bucket = excluded.is_with_bucket,
      deleted_at_ms = excluded.deleted_at_ms, payload = excluded.payload
    """
  static let trashedSQL =
    "SELECT payload FROM deleted_notifications WHERE user_id = $1 AND id = $2 AND is_with_bucket = 0"
  static let untrashSQL = "DELETE FROM deleted_notifications WHERE user_id = $1 AND id = $2"
  static let trashListSQL = """
    SELECT payload, deleted_at_ms FROM deleted_notifications
    WHERE user_id = $1 AND is_with_bucket = 0 AND (deleted_at_ms, id) < ($2, $3)
    ORDER BY deleted_at_ms DESC, id DESC LIMIT $4
    """

  func deleteNotification(_ id: String, etag: String, user: String) async throws -> UnreadCounts {
    try await write { transaction in
      let found = try find(id, user: user, field: "notificationId", transaction)
      guard Etag.allows(etag, version: found.version) else {
        throw RPCError.etagMismatch(field: "etag", current: found.message.etag)
      }
      var context = PublishingContext(nowMs: clockMs(), limits: limits)
      try delete(found.message, user: user, in: &context, transaction)
      try context.finish(transaction)
      return try transaction.unreadCounts(user: user)
    }
  }

  func deleteNotifications(_ ids: [String], user: String) async throws -> BulkChange {
    try await write { transaction in
      var change = try delete(ids, user: user, transaction)
      change.counts = try transaction.unreadCounts(user: user)
      return change
    }
  }

  @discardableResult
  func delete(_ ids: [String], user: String, _ transaction: WriteTransaction) throws -> BulkChange {
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    var change = BulkChange()
    for id in BulkChange.distinct(ids) {
      let found = try transaction.queryOne(
        Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
      guard let found else {
        change.missingIDs.append(id)
        continue
      }
      try delete(found, user: user, in: &context, transaction)
      change.count += 1
    }
    try context.finish(transaction)
    return change
  }

  private func delete(
    _ notification: Notification, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws {
    try remove(notification, isWithBucket: false, user: user, in: &context, transaction)
    try transaction.logDeletion(
      bucketID: notification.bucketId, notificationID: notification.id, atMs: context.nowMs, user: user, notifier)
  }

  /// Removes a notification from lists and counts, and stores it for restoring while there is room. Copies that are
  /// deleted with their owner's bucket (`isShared`) leave a tenth of the limit free for the user's own deletions.
  func remove(
    _ notification: Notification, isWithBucket: Bool, isShared: Bool = false, user: String,
    in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws {
    let keptMax = limits.deletedPerUserMax - (isShared ? limits.deletedPerUserMax / 10 : 0)
    try transaction.execute(Self.removeSQL, [.text(user), .text(notification.id)])
    let unread: Int64 = notification.readTime == nil ? -1 : 0
    context.add(CountChange(notifications: -1, unread: unread), to: notification.bucketId, of: user)
    try clearTimers(of: notification, user: user, transaction)
    let isKept =
      try transaction.executeCounting(
        "UPDATE users SET deleted_count = deleted_count + 1 WHERE user_id = $1 AND deleted_count < $2",
        [.text(user), .int(keptMax)]) > 0
    guard isKept else { return try dropContents(of: notification, user: user, transaction) }
    try transaction.execute(
      Self.trashSQL,
      [
        .text(user), .text(notification.id), .text(notification.bucketId), .bool(isWithBucket),
        .integer(context.nowMs), .blob(notification.jsonUTF8Bytes()),
      ])
  }

  /// Deletes a notification permanently.
  func destroy(
    _ notification: Notification, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws {
    try transaction.execute(Self.removeSQL, [.text(user), .text(notification.id)])
    let unread: Int64 = notification.readTime == nil ? -1 : 0
    context.add(CountChange(notifications: -1, unread: unread), to: notification.bucketId, of: user)
    try transaction.clearTimers(of: notification.id, user: user)
    try dropContents(of: notification, user: user, transaction)
    try transaction.logDeletion(
      bucketID: notification.bucketId, notificationID: notification.id, atMs: context.nowMs, user: user, notifier)
  }

  func undeleteNotifications(_ ids: [String], user: String) async throws -> BulkChange {
    try await write { transaction in
      var context = PublishingContext(nowMs: clockMs(), limits: limits)
      var change = BulkChange()
      for id in BulkChange.distinct(ids) {
        let found = try transaction.queryOne(Self.trashedSQL, [.text(user), .text(id)]) { row in
          try StoredJSON.message(Notification.self, row, 0, "a deleted notification")
        }
        if let found, try restore(found, user: user, in: &context, transaction) {
          change.count += 1
        } else if try transaction.queryOne(Self.stateSQL, [.text(user), .text(id)], { _ in true }) == nil {
          change.missingIDs.append(id)
        }
      }
      try context.finish(transaction)
      change.counts = try transaction.unreadCounts(user: user)
      return change
    }
  }

  /// Restores a deleted notification. Returns false if its bucket no longer exists, the user is at the limit, or it has
  /// expired.
  func restore(
    _ old: Notification, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Bool {
    guard try context.bucket(old.bucketId, of: user, transaction) != nil, try context.hasRoom(user, transaction),
      old.expireTime.map({ $0.millisecondsSince1970 > context.nowMs }) ?? true,
      try transaction.queryOne(Self.stateSQL, [.text(user), .text(old.id)], { _ in true }) == nil
    else { return false }
    var notification = old
    // Deleted notifications are stored as JSON, with their etag.
    let version = (Etag.version(old.etag) ?? 0) + 1
    notification.etag = Etag.text(version: version)
    notification.updateTime = ProtoTimestamp(
      millisecondsSince1970: max(context.nowMs, old.createTime?.millisecondsSince1970 ?? 0))
    try transaction.execute(
      NotificationRow.insertSQL, NotificationRow.arguments(notification, version: version, user: user))
    try transaction.execute(Self.untrashSQL, [.text(user), .text(old.id)])
    try transaction.execute("UPDATE users SET deleted_count = deleted_count - 1 WHERE user_id = $1", [.text(user)])
    context.add(
      CountChange(notifications: 1, unread: old.readTime == nil ? 1 : 0), to: old.bucketId, of: user)
    try setTimers(notification, user: user, nowMs: context.nowMs, transaction)
    try transaction.log(
      .notificationCreated, bucketID: notification.bucketId, notificationID: notification.id, atMs: context.nowMs,
      user: user, notifier)
    return true
  }

  /// Returns one page, last deleted first.
  func deletedNotifications(_ query: PositionQuery) async throws -> PageRows<Notification> {
    try await readSingle { transaction in
      var rows = PageRows<Notification>(countMax: query.pageSize)
      let arguments: [SQLValue] = [
        .text(query.user), .integer(query.position.first.flatMap { Int64($0) } ?? .max),
        .text(query.position.last ?? ""), .int(query.pageSize + 1),
      ]
      try transaction.forEach(Self.trashListSQL, arguments) { row in
        var notification = try StoredJSON.message(Notification.self, row, 0, "a deleted notification")
        notification.deleteTime = ProtoTimestamp(millisecondsSince1970: try row.integer(1))
        return rows.add(notification, sizeBytes: notification.sizeBytes)
      }
      return rows
    }
  }
}
