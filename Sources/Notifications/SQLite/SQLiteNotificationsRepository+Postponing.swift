import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Postponed notifications. Each has a timer, by which the list finds it.
extension SQLiteNotificationsRepository {
  static let postponedSQL = """
    SELECT \(NotificationRow.columns) FROM timers
      JOIN notifications ON notifications.user_id = timers.user_id AND notifications.id = timers.subject_id
    WHERE timers.user_id = $1 AND timers.subject_id > $2 AND timers.kind = $3 AND notifications.delivery_state = $4
    ORDER BY timers.subject_id LIMIT $5
    """

  func postponedNotifications(_ query: PositionQuery) async throws -> PageRows<Notification> {
    let arguments: [SQLValue] = [
      .text(query.user), .text(query.position.first ?? ""), .integer(NotificationTimerKind.wake.rawValue),
      .integer(Int64(DeliveryState.postponed.rawValue)), .int(query.pageSize + 1),
    ]
    return try await readSingle { transaction in
      var rows = PageRows<Notification>(countMax: query.pageSize)
      try transaction.forEach(Self.postponedSQL, arguments) { row in
        let notification = try NotificationRow.notification(row)
        return rows.add(notification, sizeBytes: notification.sizeBytes)
      }
      return rows
    }
  }

  func cancelPostponement(_ id: String, etag: String, user: String) async throws -> Notification {
    try await write { transaction in
      let found = try find(id, user: user, field: "notificationId", transaction)
      guard found.message.deliveryState == .postponed else {
        throw RPCError.notificationNotFound(id, field: "notificationId")
      }
      guard Etag.allows(etag, version: found.version) else {
        throw RPCError.etagMismatch(field: "etag", current: found.message.etag)
      }
      var notification = found.message
      notification.deliveryState = .sent
      notification.releaseTime = nil
      var context = PublishingContext(nowMs: clockMs(), limits: limits)
      try record(.cancelled, of: id, user: user, atMs: context.nowMs, transaction)
      let changed = try rewrite(found, as: notification, user: user, in: &context, transaction)
      try context.finish(transaction)
      return changed
    }
  }
}
