import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// What the timers do that need nothing but the database. Each takes its row away in the transaction of its effect, so that
/// it happens once, whenever the process ends.
extension SQLiteNotificationsRepository {
  /// Does what a timer says, unless it was changed since it was read.
  func run(_ timer: DueTimer, _ transaction: WriteTransaction) throws {
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

  /// Puts a timer off that could not be run, so that it does not stand before the others.
  func putOff(_ timer: DueTimer, toMs: Int64) async throws {
    try await write { transaction in
      try setTimer(timer.kind, timer.subject, user: timer.user, dueMs: toMs, transaction)
    }
  }

  /// Hands over what was held, snoozed or postponed, unless there is a reason now to hold it longer.
  private func release(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
    guard let found, [.held, .snoozed, .postponed].contains(found.deliveryState) else { return }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    guard let bucket = try context.bucket(found.bucketId, of: user, transaction) else { return }
    var notification = found
    // Its own snooze has ended; what its user had read in the meantime comes back unread.
    if found.deliveryState != .held { notification.readTime = nil }
    let decision = try decide(notification, bucket, of: user, in: &context, transaction)
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    try deliver(&notification, decision, user: user, nowMs: nowMs, isHandOverTold: true, transaction)
    _ = try rewrite(found, as: notification, isAlert: decision == .send, user: user, in: &context, transaction)
    try context.finish(transaction)
  }

  private func sendAgain(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
    guard let found, found.readTime == nil, found.deliveryState == .sent, var plan = found.`repeat`,
      plan.count < plan.maxCount
    else { return }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    guard let bucket = try context.bucket(found.bucketId, of: user, transaction) else { return }
    switch try decide(found, bucket, of: user, in: &context, transaction) {
    case .hold(let untilMs, _): try setTimer(.repeat, id, user: user, dueMs: untilMs, transaction)
    case .suppress:
      try setTimer(.repeat, id, user: user, dueMs: nowMs + Int64(plan.everyMinutes) * 60_000, transaction)
    case .send:
      plan.count += 1
      var notification = found
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

  /// Publishes what a heartbeat has to say that has missed its beat.
  private func miss(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    guard
      let (_, notification) = try SQLiteAutomationRepository.missed(id, user: user, nowMs: nowMs, transaction, board)
    else {
      return
    }
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    do {
      _ = try publish(try NotificationDraft(notification), by: user, in: &context, transaction)
      try context.finish(transaction)
    } catch is RPCError {
      // Its bucket is gone or full: the heartbeat stays marked as missing, which its user sees.
    }
  }

  /// A beat that comes with a publication.
  func beat(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    _ = try SQLiteAutomationRepository.beat(id, user: user, nowMs: nowMs, transaction, board)
  }
}
