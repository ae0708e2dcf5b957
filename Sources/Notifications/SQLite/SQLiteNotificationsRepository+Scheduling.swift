import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Notifications that wait for their `deliver_time`, stored under their final ids. Ids contain the delivery time: the
/// list is ordered by delivery, and a delivered notification is sorted among the newest.
extension SQLiteNotificationsRepository {
  static let scheduledListSQL = """
    SELECT payload FROM scheduled WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3
    """
  static let scheduledSQL = "SELECT payload FROM scheduled WHERE user_id = $1 AND id = $2"
  static let unscheduleSQL = "DELETE FROM scheduled WHERE user_id = $1 AND id = $2"

  func schedule(
    _ draft: NotificationDraft, atMs: Int64, user: String, in context: inout PublishingContext,
    _ transaction: WriteTransaction
  ) throws -> Notification {
    let bucketID = draft.notification.bucketId
    _ = try context.publisherBucket(bucketID, of: user, transaction)
    // Read before the entry is counted, because a refused entry must not change anything.
    let heartbeat =
      draft.heartbeatID.isEmpty
      ? nil : try SQLiteAutomationRepository.heartbeat(draft.heartbeatID, user: user, transaction)
    try transaction.reserveScheduled(of: user, limits)
    if let heartbeat {
      _ = try SQLiteAutomationRepository.beat(heartbeat, user: user, nowMs: context.nowMs, transaction, notifier)
    }
    var notification = draft.notification
    notification.id = ids.future(prefix: SortableID.notificationPrefix, timeMs: atMs)
    if notification.priority == .unspecified { notification.priority = .normal }
    notification.deliveryState = .scheduled
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: context.nowMs)
    notification.etag = Etag.text(version: 1)
    for content in draft.contents { try keep(content, transaction) }
    try reference(notification, user: user, transaction)
    try transaction.addScheduled(notification, atMs: atMs, user: user)
    try setTimer(.deliver, notification.id, user: user, dueMs: atMs, transaction)
    try record(
      .scheduled, of: notification.id, user: user, atMs: context.nowMs, releaseAtMs: atMs, transaction)
    return notification
  }

  func scheduledNotifications(_ query: PositionQuery) async throws -> PageRows<Notification> {
    try await readSingle { transaction in
      var rows = PageRows<Notification>(countMax: query.pageSize)
      let arguments: [SQLValue] = [
        .text(query.user), .text(query.position.first ?? ""), .int(query.pageSize + 1),
      ]
      try transaction.forEach(Self.scheduledListSQL, arguments) { row in
        let notification = try Self.scheduled(row)
        return rows.add(notification, sizeBytes: notification.sizeBytes)
      }
      return rows
    }
  }

  func cancelScheduled(_ id: String, etag: String, user: String) async throws {
    try await write { transaction in
      let found = try transaction.queryOne(Self.scheduledSQL, [.text(user), .text(id)], Self.scheduled)
      guard let notification = found else { throw RPCError.notificationNotFound(id, field: "notificationId") }
      guard etag.isEmpty || etag == notification.etag else {
        throw RPCError.etagMismatch(field: "etag", current: notification.etag)
      }
      try unschedule(id, user: user, transaction)
      try dropContents(of: notification, user: user, transaction)
      try clearTimer(.deliver, id, user: user, transaction)
      try record(.cancelled, of: id, user: user, atMs: clockMs(), transaction)
    }
  }

  /// Publishes a scheduled notification that is due. Drops it if its bucket no longer exists or publishing is no longer
  /// permitted, and records that in the delivery log.
  func deliverScheduled(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    guard let notification = try takeScheduled(id, user: user, transaction) else { return }
    let atMs = notification.deliverTime?.millisecondsSince1970 ?? nowMs
    if let expireMs = notification.expireTime?.millisecondsSince1970, expireMs <= nowMs {
      try record(.expired, of: id, user: user, atMs: nowMs, transaction)
      return try dropContents(of: notification, user: user, transaction)
    }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    do {
      let own = try create(
        try NotificationDraft(notification), by: user, as: PublishingTarget(id: id, createdAtMs: atMs), in: &context,
        transaction)
      try context.finish(transaction)
      // The collapse key replaced an existing notification, which has another id, or the publisher is not a recipient.
      let isRecipient = notification.recipientIds.isEmpty || notification.recipientIds.contains(user)
      if own.id != id || !isRecipient { try dropContents(of: notification, user: user, transaction) }
    } catch is RPCError {
      // Rejected before anything was changed.
      try record(.obsolete, of: id, user: user, atMs: nowMs, transaction)
      try dropContents(of: notification, user: user, transaction)
    }
  }

  private func takeScheduled(_ id: String, user: String, _ transaction: WriteTransaction) throws -> Notification? {
    let found = try transaction.queryOne(Self.scheduledSQL, [.text(user), .text(id)], Self.scheduled)
    if found != nil { try unschedule(id, user: user, transaction) }
    return found
  }

  private func unschedule(_ id: String, user: String, _ transaction: WriteTransaction) throws {
    try transaction.execute(Self.unscheduleSQL, [.text(user), .text(id)])
    try transaction.execute(
      "UPDATE users SET scheduled_count = scheduled_count - 1 WHERE user_id = $1", [.text(user)])
  }

  private static func scheduled(_ row: borrowing SQLRow) throws -> Notification {
    try StoredJSON.message(Notification.self, row, 0, "a scheduled notification")
  }
}

extension WriteTransaction {
  /// Counts one more scheduled notification. Throws RESOURCE_EXHAUSTED if the user already has the maximum.
  func reserveScheduled(of user: String, _ limits: NotificationsLimits) throws {
    let taken = try executeCounting(
      "UPDATE users SET scheduled_count = scheduled_count + 1 WHERE user_id = $1 AND scheduled_count < $2",
      [.text(user), .int(limits.scheduledPerUserMax)])
    guard taken > 0 else {
      throw RPCError.exhausted(
        "a user may have \(limits.scheduledPerUserMax) scheduled notifications", .scheduledExhausted,
        limit: limits.scheduledPerUserMax)
    }
  }

  func addScheduled(_ notification: Notification, atMs: Int64, user: String) throws {
    try execute(
      "INSERT INTO scheduled (user_id, id, deliver_at_ms, payload) VALUES ($1, $2, $3, $4)",
      [.text(user), .text(notification.id), .integer(atMs), .blob(notification.jsonUTF8Bytes())])
  }
}
