import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Timers that only need the database. Each deletes its row in the transaction of its effect, so that it runs exactly
/// once, even if the process ends.
extension SQLiteNotificationsRepository {
  /// Runs a timer, unless it was changed after it had been read.
  func run(_ timer: NotificationTimer, _ transaction: WriteTransaction) throws {
    guard try transaction.takeTimer(timer) else { return }
    let nowMs = max(clockMs(), timer.dueMs)
    switch timer.kind {
    case .deliver: try deliverScheduled(timer.subject, user: timer.user, nowMs: nowMs, transaction)
    case .release, .wake: try release(timer.subject, user: timer.user, nowMs: nowMs, transaction)
    case .repeat: try sendAgain(timer.subject, user: timer.user, nowMs: nowMs, transaction)
    case .expire: try expire(timer.subject, user: timer.user, nowMs: nowMs, transaction)
    case .heartbeat: try miss(timer.subject, user: timer.user, nowMs: nowMs, transaction)
    case .shareEnd:
      let row = try transaction.queryOne(
        Self.bucketSQL, [.text(timer.user), .text(timer.subject)], BucketRow.bucket)
      if let row, row.ownerId != timer.user { try endShare(row, of: timer.user, transaction) }
    case .emptyBucket, .refillBucket, .actionRetry: break
    }
  }

  /// Hands over a held, snoozed or postponed notification, unless it must now be held for another reason.
  private func release(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.stored)
    guard let found, [.held, .snoozed, .postponed].contains(found.message.deliveryState) else { return }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    var notification = found.message
    guard let bucket = try context.bucket(notification.bucketId, of: user, transaction) else { return }
    // The snooze of the notification has ended: it becomes unread again, even if it was read in the meantime.
    if notification.deliveryState != .held { notification.readTime = nil }
    let decision = try decide(notification, bucket, of: user, in: &context, transaction)
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    try deliver(&notification, decision, user: user, nowMs: nowMs, isHandOverLogged: true, transaction)
    _ = try rewrite(found, as: notification, isAlert: decision == .send, user: user, in: &context, transaction)
    try context.finish(transaction)
  }

  private func sendAgain(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.stored)
    guard let found, found.message.readTime == nil, found.message.deliveryState == .sent,
      var plan = found.message.`repeat`, plan.count < plan.maxCount
    else { return }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    var notification = found.message
    guard let bucket = try context.bucket(notification.bucketId, of: user, transaction) else { return }
    switch try decide(notification, bucket, of: user, in: &context, transaction) {
    case .hold(let untilMs, _): try setTimer(.repeat, id, user: user, dueMs: untilMs, transaction)
    case .suppress:
      try setTimer(.repeat, id, user: user, dueMs: nowMs + plan.everyMs, transaction)
    case .send:
      plan.count += 1
      notification.`repeat` = plan
      notification.sendCount += 1
      notification.sendTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      try record(.repeated, of: id, user: user, atMs: nowMs, transaction)
      _ = try rewrite(found, as: notification, isAlert: true, user: user, in: &context, transaction)
      try context.finish(transaction)
    }
  }

  private func expire(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
    guard let found, let expireMs = found.expireTime?.millisecondsSince1970, expireMs <= nowMs else { return }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    try record(.expired, of: id, user: user, atMs: nowMs, transaction)
    try destroy(found, user: user, in: &context, transaction)
    try context.finish(transaction)
  }

  /// Publishes the notification of a heartbeat that has missed its beat.
  private func miss(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    guard
      let (_, notification) = try SQLiteAutomationRepository.missed(id, user: user, nowMs: nowMs, transaction, notifier)
    else {
      return
    }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    do {
      _ = try create(try NotificationDraft(notification), by: user, in: &context, transaction)
      try context.finish(transaction)
    } catch is RPCError {
      // The bucket no longer exists or is full. The heartbeat stays marked as missing, which its user can see.
    }
  }

  /// Records the beat of a publication.
  func beat(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    _ = try SQLiteAutomationRepository.beat(id, user: user, nowMs: nowMs, transaction, notifier)
  }
}
