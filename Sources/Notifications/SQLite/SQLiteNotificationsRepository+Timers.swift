import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

extension Repeat {
  /// The time between two hand-overs.
  var everyMs: Int64 { every?.milliseconds ?? 0 }
}

extension SQLiteNotificationsRepository {
  func setTimer(
    _ kind: NotificationTimerKind, _ subject: String, user: String, dueMs: Int64, _ transaction: WriteTransaction
  ) throws {
    try transaction.setTimer(kind, subject, user: user, dueMs: dueMs, notifier)
  }

  func clearTimer(_ kind: NotificationTimerKind, _ subject: String, user: String, _ transaction: WriteTransaction)
    throws
  {
    try transaction.clearTimer(kind, subject, user: user)
  }

  /// Makes held notifications due at once, so that they are decided again. Called when the reason for holding may have
  /// ended.
  func hastenReleases(user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    let count = try transaction.executeCounting(
      TimerTable.hastenSQL, [.integer(nowMs), .text(user), .integer(NotificationTimerKind.release.rawValue)])
    if count > 0 { notifier.scheduled(nowMs) }
  }

  /// Sets the timers for the notification's current state.
  func setTimers(
    _ notification: Notification, user: String, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    let id = notification.id
    if let expireMs = notification.expireTime?.millisecondsSince1970 {
      try setTimer(.expire, id, user: user, dueMs: expireMs, transaction)
    }
    if let releaseMs = notification.releaseTime?.millisecondsSince1970 {
      let kind: NotificationTimerKind = notification.deliveryState == .held ? .release : .wake
      try setTimer(kind, id, user: user, dueMs: releaseMs, transaction)
    }
    if let `repeat` = notification.`repeat`, notification.deliveryState == .sent, notification.readTime == nil,
      `repeat`.count < `repeat`.maxCount
    {
      try setTimer(.repeat, id, user: user, dueMs: nowMs + `repeat`.everyMs, transaction)
    }
  }

  /// Clears the timers that the notification can have. Most have none, which costs no statement.
  func clearTimers(
    of old: Notification, user: String, keeping new: Notification? = nil, _ transaction: WriteTransaction
  ) throws {
    if old.expireTime != nil, new?.expireTime == nil {
      try clearTimer(.expire, old.id, user: user, transaction)
    }
    if old.releaseTime != nil {
      try clearTimer(old.deliveryState == .held ? .release : .wake, old.id, user: user, transaction)
    }
    if old.`repeat` != nil { try clearTimer(.repeat, old.id, user: user, transaction) }
  }

  static let recordSQL = """
    INSERT INTO deliveries (user_id, notification_id, at_ms, device_id, outcome, reason, release_at_ms, push_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (user_id, notification_id, at_ms, device_id, outcome, push_id) DO NOTHING
    """

  /// Appends a record that applies to all devices to the delivery log.
  func record(
    _ outcome: DeliveryOutcome, of notificationID: String, user: String, atMs: Int64, releaseAtMs: Int64? = nil,
    _ transaction: WriteTransaction
  ) throws {
    try transaction.execute(
      Self.recordSQL,
      [
        .text(user), .text(notificationID), .integer(atMs), "", .integer(Int64(outcome.rawValue)), "",
        .integer(releaseAtMs), "",
      ])
  }
}
