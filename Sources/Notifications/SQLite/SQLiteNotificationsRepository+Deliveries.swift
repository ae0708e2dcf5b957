import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  static let deliveriesSQL = """
    SELECT at_ms, device_id, outcome, reason, release_at_ms, push_id FROM deliveries
    WHERE user_id = $1 AND notification_id = $2 AND (at_ms, device_id, outcome, push_id) > ($3, $4, $5, $6)
    ORDER BY at_ms, device_id, outcome, push_id LIMIT $7
    """
  /// Whether the delivery of a new notification was withheld: quiet hours, snooze, mute or NO_PUSH.
  static let withheldSQL = """
    SELECT 1 FROM deliveries
    WHERE user_id = $1 AND notification_id = $2 AND at_ms <= $3 AND outcome IN (3, 4, 5, 6) LIMIT 1
    """

  /// Returns the delivery log of a notification, oldest first. The immediate hand-over of a new notification has no
  /// record of its own; it is derived from the notification. Throws NOT_FOUND if there is neither a notification nor a
  /// record.
  func deliveries(of id: String, _ query: PositionQuery) async throws -> [DeliveryRecord] {
    let after = DeliveryKey(query.position)
    return try await read { transaction in
      var records = try transaction.query(
        Self.deliveriesSQL, [.text(query.user), .text(id)] + after.values + [.int(query.pageSize + 1)],
        Self.deliveryRecord)
      let notification = try transaction.queryOne(
        Self.notificationSQL, [.text(query.user), .text(id)], NotificationRow.notification)
      guard let notification else {
        if records.isEmpty, query.position.isEmpty {
          throw RPCError.notificationNotFound(id, field: "notificationId")
        }
        return records
      }
      if let first = try firstHandOver(of: notification, user: query.user, transaction), after < DeliveryKey(first) {
        let place = records.firstIndex { DeliveryKey(first) < DeliveryKey($0) } ?? records.count
        records.insert(first, at: place)
      }
      return Array(records.prefix(query.pageSize + 1))
    }
  }

  /// Returns the record of an immediate hand-over, or nil if the delivery was withheld.
  private func firstHandOver(
    of notification: Notification, user: String, _ transaction: ReadTransaction
  ) throws -> DeliveryRecord? {
    guard notification.sendCount > 0, let createTime = notification.createTime else { return nil }
    let arguments: [SQLValue] = [
      .text(user), .text(notification.id), .integer(createTime.millisecondsSince1970),
    ]
    guard try transaction.queryOne(Self.withheldSQL, arguments, { _ in true }) == nil else { return nil }
    return DeliveryRecord(eventTime: createTime, outcome: .handedOver)
  }

  private static func deliveryRecord(_ row: borrowing SQLRow) throws -> DeliveryRecord {
    DeliveryRecord(
      eventTime: ProtoTimestamp(millisecondsSince1970: try row.integer(0)), deviceId: try row.text(1),
      outcome: .init(rawValue: Int32(truncatingIfNeeded: try row.integer(2))), reason: try row.text(3),
      releaseTime: try row.integerIfPresent(4).map { ProtoTimestamp(millisecondsSince1970: $0) },
      pushId: try row.text(5))
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
        count += try transaction.executeCounting(
          Self.recordSQL,
          [
            .text(delivery.userId), .text(delivery.notificationId),
            .integer(record.eventTime?.millisecondsSince1970 ?? clockMs()), .text(record.deviceId),
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
  func lastChange() async throws -> Int64 { try await readSingle { try $0.lastChange() } }

  /// Returns the content of the user's Live Activity. It is computed from the stored notifications, so it is never
  /// stale.
  func unreadSummary(user: String) async throws -> UnreadSummary {
    try await read { transaction in
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
          createTime: row.createTime)
      }
      return SummaryShaper.shape(items, unreadCount: Int(unread), updateMs: clockMs()).summary
    }
  }
}

/// The position of a record in the delivery log of a notification.
struct DeliveryKey: Sendable, Hashable, Comparable {
  private let timeMs: Int64
  private let deviceID: String
  private let outcome: Int64
  private let pushID: String

  /// - Parameter position: The parts of a page token; empty for the first page.
  init(_ position: [String]) {
    timeMs = position.first.flatMap { Int64($0) } ?? .min
    deviceID = position.count == 4 ? position[1] : ""
    outcome = position.count == 4 ? Int64(position[2]) ?? 0 : 0
    pushID = position.last ?? ""
  }

  init(_ record: DeliveryRecord) {
    timeMs = record.eventTime?.millisecondsSince1970 ?? 0
    deviceID = record.deviceId
    outcome = Int64(record.outcome.rawValue)
    pushID = record.pushId
  }

  /// The parts of a page token.
  var parts: [String] { [String(timeMs), deviceID, String(outcome), pushID] }

  var values: [SQLValue] { [.integer(timeMs), .text(deviceID), .integer(outcome), .text(pushID)] }

  static func < (a: DeliveryKey, b: DeliveryKey) -> Bool {
    if a.timeMs != b.timeMs { return a.timeMs < b.timeMs }
    if a.deviceID != b.deviceID { return a.deviceID.precedes(b.deviceID) }
    if a.outcome != b.outcome { return a.outcome < b.outcome }
    return a.pushID.precedes(b.pushID)
  }
}
