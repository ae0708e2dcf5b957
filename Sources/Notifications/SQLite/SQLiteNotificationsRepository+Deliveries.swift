import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  static let deliveriesSQL = """
    SELECT at_ms, device_id, outcome, reason, release_at_ms, push_id FROM deliveries
    WHERE user_id = $1 AND notification_id = $2 ORDER BY at_ms DESC LIMIT $3
    """
  static let deliveriesMax = 1_000

  /// Returns the delivery log of a notification, oldest first. The immediate hand-over of a new notification has no
  /// record of its own; it is derived from the notification. Throws NOT_FOUND if there is neither a notification nor a
  /// record.
  func deliveries(of id: String, user: String) throws -> [DeliveryRecord] {
    try read { transaction in
      let notification = try transaction.queryOne(
        Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
      var records = try transaction.query(
        Self.deliveriesSQL, [.text(user), .text(id), .int(Self.deliveriesMax)], rowsMax: Self.deliveriesMax
      ) { row in
        DeliveryRecord(
          time: ProtoTimestamp(millisecondsSince1970: try row.integer(0)), deviceId: try row.text(1),
          outcome: .init(rawValue: Int32(truncatingIfNeeded: try row.integer(2))), reason: try row.text(3),
          releaseTime: try row.integerIfPresent(4).map { ProtoTimestamp(millisecondsSince1970: $0) },
          pushId: try row.text(5))
      }
      records.reverse()
      guard let notification else {
        if records.isEmpty { throw RPCError.notificationNotFound(id, field: "notificationId") }
        return records
      }
      let withheld: Set<DeliveryOutcome> = [.heldByQuietHours, .heldBySnooze, .muted, .noPush]
      let createdMs = notification.createTime?.millisecondsSince1970 ?? 0
      let wasWithheld = records.contains { record in
        withheld.contains(record.outcome) && (record.time?.millisecondsSince1970 ?? 0) <= createdMs
      }
      if !wasWithheld, notification.sendCount > 0 {
        let record = DeliveryRecord(time: notification.createTime, outcome: .handedOver)
        let place = records.firstIndex { ($0.time?.millisecondsSince1970 ?? 0) >= createdMs } ?? records.count
        records.insert(record, at: place)
      }
      return records
    }
  }

  /// Appends the results that the push services report. Skips records of notifications that do not exist.
  func record(_ deliveries: [NotificationDelivery]) async throws -> Int {
    try await write { transaction in
      var count = 0
      for delivery in deliveries {
        let record = delivery.record ?? DeliveryRecord()
        let isKnown = try transaction.queryOne(
          Self.stateSQL, [.text(delivery.userId), .text(delivery.notificationId)], { _ in true })
        guard isKnown == true else { continue }
        count += try transaction.execute(
          Self.recordSQL,
          [
            .text(delivery.userId), .text(delivery.notificationId),
            .integer(record.time?.millisecondsSince1970 ?? clockMs()), .text(record.deviceId),
            .integer(Int64(record.outcome.rawValue)), .text(record.reason), .null, .text(record.pushId),
          ])
      }
      return count
    }
  }

  static let newestUnreadSQL = """
    SELECT \(NotificationRow.columns) FROM notifications
    WHERE user_id = $1 AND read_at_ms IS NULL ORDER BY id DESC LIMIT $2
    """

  /// The sequence of the latest change of all users.
  func lastChange() throws -> Int64 {
    try readSingle { try $0.queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0 }
  }

  /// Returns the content of the user's Live Activity. It is computed from the stored notifications, so it is never
  /// stale.
  func unreadSummary(user: String) throws -> UnreadSummary {
    try read { transaction in
      let size = UnreadSummaryRules.size(try settings(user: user, transaction).summarySize)
      let unread = try transaction.queryOne(ReadTransaction.userUnreadSQL, [.text(user)]) { try $0.integer(0) } ?? 0
      let rows = try transaction.query(
        Self.newestUnreadSQL, [.text(user), .int(size)], NotificationRow.notification)
      var buckets: [String: Bucket] = [:]
      let items = try rows.map { row in
        if buckets[row.bucketId] == nil {
          buckets[row.bucketId] = try transaction.queryOne(
            Self.bucketSQL, [.text(user), .text(row.bucketId)], BucketRow.bucket)
        }
        return UnreadItem(
          id: row.id, title: row.title, subtitle: row.subtitle, body: row.body, bucketId: row.bucketId,
          bucketName: buckets[row.bucketId]?.name, bucketIconUrl: buckets[row.bucketId]?.iconUrl,
          createdAt: row.createTime)
      }
      return SummaryShaper.shape(items, unreadCount: Int(unread), lastUpdateMs: clockMs()).summary
    }
  }
}
