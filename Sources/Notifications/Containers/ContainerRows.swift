import CampanileAPI
import CampanileService
import CampanileStore

/// Reads what a user's files are made of, all of it on one snapshot.
enum ContainerRows {
  static let bucketsMax = 10_000
  static let bucketsSQL = """
    SELECT \(BucketRow.columns) FROM buckets
    WHERE user_id = $1 AND name > '' AND deleted_at_ms IS NULL AND is_orphan = 0 ORDER BY name, id LIMIT $2
    """
  static let notificationsSQL = """
    SELECT \(NotificationRow.columns) FROM notifications WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3
    """

  /// At most `notificationsMax` notifications, the newest first; those of orphan buckets are left out.
  static func read(
    user: String, notificationsMax: Int, _ store: Store
  ) throws -> (buckets: [Bucket], notifications: [Notification]) {
    try store.read { transaction in
      let buckets = try transaction.query(bucketsSQL, [.text(user), .int(bucketsMax)], BucketRow.bucket)
      let known = Set(buckets.map(\.id))
      var notifications: [Notification] = []
      guard notificationsMax > 0 else { return (buckets, []) }
      // All ids begin with a letter. Twice as many are looked at, so that a user of orphans costs no more.
      try transaction.forEach(notificationsSQL, [.text(user), "~", .int(2 * notificationsMax)]) { row in
        let notification = try NotificationRow.notification(row)
        if known.contains(notification.bucketId) { notifications.append(notification) }
        return notifications.count < notificationsMax
      }
      return (buckets, notifications)
    }
  }
}
