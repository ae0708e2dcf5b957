import CampanileAPI
import CampanileService
import CampanileStore

/// Reads the contents of a user's files in one snapshot.
enum ContainerRows {
  static let bucketsMax = 10_000
  static let bucketsSQL = """
    SELECT \(BucketRow.columns) FROM buckets
    WHERE user_id = $1 AND name > '' AND deleted_at_ms IS NULL AND is_orphan = 0 ORDER BY name, id LIMIT $2
    """
  static let notificationsSQL = """
    SELECT \(NotificationRow.columns) FROM notifications WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3
    """

  /// Returns at most `notificationsMax` notifications, newest first, without those of orphan buckets.
  static func read(
    user: String, notificationsMax: Int, _ store: Store
  ) async throws -> (buckets: [Bucket], notifications: [Notification]) {
    try await store.read { transaction in
      let buckets = try transaction.query(bucketsSQL, [.text(user), .int(bucketsMax)], BucketRow.bucket)
      let known = Set(buckets.map(\.id))
      var notifications: [Notification] = []
      guard notificationsMax > 0 else { return (buckets, []) }
      // All ids sort before "~". At most twice the limit is read, which bounds the cost for users with many orphans.
      try transaction.forEach(notificationsSQL, [.text(user), "~", .int(2 * notificationsMax)]) { row in
        let notification = try NotificationRow.notification(row)
        if known.contains(notification.bucketId) { notifications.append(notification) }
        return notifications.count < notificationsMax
      }
      return (buckets, notifications)
    }
  }
}
