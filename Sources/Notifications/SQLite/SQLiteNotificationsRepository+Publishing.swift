import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The id and creation time of a notification to publish: those of a scheduled or replaced one, otherwise new.
struct PublishingTarget: Sendable, Hashable {
  var id: String
  var createdAtMs: Int64
}

extension SQLiteNotificationsRepository {
  static let collapsedSQL = """
    SELECT \(NotificationRow.columns) FROM notifications
    WHERE user_id = $1 AND bucket_id = $2 AND collapse_key = $3 LIMIT 1
    """

  /// Publishes into the draft's bucket as `user`: writes copies for the user, the owner and the members, or for those
  /// of them that the draft names as its recipients. Without a target, schedules the notification instead if its
  /// `deliver_time` is in the future.
  ///
  /// Throws before changing anything: NOT_FOUND for the bucket or if nobody is left of the recipients,
  /// PERMISSION_DENIED for a reader, RESOURCE_EXHAUSTED.
  ///
  /// - Parameter context: Collects the counts. The caller finishes it.
  /// - Returns: The user's own copy. A user who is not a recipient gets the notification as it was sent.
  func create(
    _ draft: NotificationDraft, by user: String, as target: PublishingTarget? = nil,
    in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Notification {
    if target == nil, let deliverMs = draft.notification.deliverTime?.millisecondsSince1970, deliverMs > context.nowMs {
      return try schedule(draft, atMs: deliverMs, user: user, in: &context, transaction)
    }
    let bucketID = draft.notification.bucketId
    let bucket = try context.publisherBucket(bucketID, of: user, transaction)
    let chosen = Set(draft.notification.recipientIds)
    let isRecipient = chosen.isEmpty || chosen.contains(user)
    let replaced = isRecipient ? try collapsed(by: draft, of: user, transaction) : nil
    if isRecipient {
      guard try replaced != nil || context.hasRoom(user, transaction) else { throw notificationsExhausted }
      guard context.takeCopy() else { throw copiesExhausted }
    }
    var others: [String] = []
    if !bucket.ownerID.isEmpty || bucket.shareCount > 0 {
      others = try recipients(of: bucketID, bucket, beside: user, chosen: chosen, in: &context, transaction)
    }
    guard isRecipient || !others.isEmpty else { throw Self.recipientNotFound(draft.notification.recipientIds) }
    if !draft.heartbeatID.isEmpty { try beat(draft.heartbeatID, user: user, nowMs: context.nowMs, transaction) }
    for content in draft.contents { try keep(content, transaction) }
    let target =
      try replaced.map { PublishingTarget(id: $0.message.id, createdAtMs: $0.createdAtMs) } ?? target
      ?? newTarget(transaction)
    let own =
      isRecipient
      ? try upsert(draft, bucket, replacing: replaced, at: target, of: user, in: &context, transaction)
      : draft.sent(at: target)
    // If the publisher's own copy replaced an older one, new copies still have their own creation time.
    let copyTarget = PublishingTarget(
      id: target.id, createdAtMs: replaced == nil ? target.createdAtMs : context.nowMs)
    for other in others { try copy(draft, at: copyTarget, to: other, in: &context, transaction) }
    return own
  }

  private static func recipientNotFound(_ ids: [String]) -> RPCError {
    .missing("recipient", ids.first ?? "", field: "notification.recipientIds", .recipientNotFound)
  }

  private func newTarget(_ transaction: WriteTransaction) throws -> PublishingTarget {
    let (id, timeMs) = ids.next(
      prefix: SortableID.notificationPrefix, after: try notifier.alarms.foreignTimeMs(transaction))
    return PublishingTarget(id: id, createdAtMs: timeMs)
  }

  /// The owner and the members of a shared bucket, without the publisher, or the chosen ones of them.
  private func recipients(
    of bucketID: String, _ bucket: BucketState, beside user: String, chosen: Set<String>,
    in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> [String] {
    let owner = bucket.ownerID.isEmpty ? user : bucket.ownerID
    let all = [owner] + (try context.members(of: bucketID, owner: owner, transaction))
    let others = all.filter { $0 != user && (chosen.isEmpty || chosen.contains($0)) }
    guard others.count <= context.copiesLeft else { throw copiesExhausted }
    return others
  }

  /// Writes a member's copy. Skips members whose share has expired or who have reached their limit.
  private func copy(
    _ draft: NotificationDraft, at target: PublishingTarget, to user: String, in context: inout PublishingContext,
    _ transaction: WriteTransaction
  ) throws {
    guard let bucket = try context.bucket(draft.notification.bucketId, of: user, transaction),
      bucket.role(nowMs: context.nowMs) != .unspecified
    else { return }
    let replaced = try collapsed(by: draft, of: user, transaction)
    let isShared = !bucket.ownerID.isEmpty
    guard try replaced != nil || context.hasRoom(user, isShared: isShared, transaction), context.takeCopy() else {
      return
    }
    let isTaken =
      try replaced == nil
      && transaction.queryOne(Self.stateSQL, [.text(user), .text(target.id)], { _ in true }) == true
    let copyTarget =
      try replaced.map { PublishingTarget(id: $0.message.id, createdAtMs: $0.createdAtMs) }
      ?? (isTaken ? newTarget(transaction) : target)
    _ = try upsert(draft, bucket, replacing: replaced, at: copyTarget, of: user, in: &context, transaction)
  }

  /// Returns the notification that the draft replaces by its collapse key.
  private func collapsed(
    by draft: NotificationDraft, of user: String, _ transaction: WriteTransaction
  ) throws -> StoredNotification? {
    let key = draft.notification.collapseKey
    if key.isEmpty { return nil }
    return try transaction.queryOne(
      Self.collapsedSQL, [.text(user), .text(draft.notification.bucketId), .text(key)], NotificationRow.stored)
  }

  /// Writes one user's copy with its delivery state, timers, delivery log and change log entry.
  private func upsert(
    _ draft: NotificationDraft, _ bucket: BucketState, replacing stored: StoredNotification?,
    at target: PublishingTarget,
    of user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Notification {
    let nowMs = context.nowMs
    var notification = draft.notification
    let old = stored?.message
    notification.id = target.id
    if notification.priority == .unspecified { notification.priority = .normal }
    notification.createTime = ProtoTimestamp(millisecondsSince1970: target.createdAtMs)
    // Ids contain the creation time: if the clock goes back, the update time must not precede it.
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: max(nowMs, target.createdAtMs))
    notification.readTime = nil
    notification.deliverTime = nil
    notification.deleteTime = nil
    notification.recipientIds = []
    notification.completeActions()
    notification.sendTime = nil
    notification.releaseTime = nil
    notification.sendCount = old?.sendCount ?? 0
    notification.`repeat`?.count = 0
    if notification.`repeat`?.maxCount == 0 { notification.`repeat`?.maxCount = NotificationField.repeatCountDefault }
    let version = (stored?.version ?? 0) + 1
    notification.etag = Etag.text(version: version)
    let decision = try decide(notification, bucket, of: user, in: &context, transaction)
    // The row itself records the immediate hand-over of a new notification; later ones are recorded only in the
    // delivery log.
    try deliver(&notification, decision, user: user, nowMs: nowMs, isHandOverLogged: old != nil, transaction)
    let arguments = NotificationRow.arguments(notification, version: version, user: user)
    if let old {
      try transaction.execute(NotificationRow.updateSQL, arguments)
      if old.readTime != nil { context.add(CountChange(unread: 1), to: notification.bucketId, of: user) }
      try clearTimers(of: old, user: user, keeping: notification, transaction)
      try dropContents(of: old, keeping: notification, user: user, transaction)
    } else {
      try transaction.execute(NotificationRow.insertSQL, arguments)
      context.add(CountChange(notifications: 1, unread: 1), to: notification.bucketId, of: user)
    }
    try reference(notification, user: user, transaction)
    try setTimers(notification, user: user, nowMs: nowMs, transaction)
    try transaction.log(
      old == nil ? .notificationCreated : .notificationUpdated, bucketID: notification.bucketId,
      notificationID: notification.id, isAlert: decision == .send,
      atMs: notification.updateTime?.millisecondsSince1970 ?? nowMs, user: user, notifier)
    return notification
  }

  /// Decides whether devices are notified now, by the settings of the user and of the bucket.
  func decide(
    _ notification: Notification, _ bucket: BucketState, of user: String, in context: inout PublishingContext,
    _ transaction: WriteTransaction
  ) throws -> DeliveryDecision {
    let state = try context.user(user, transaction)
    let schedule = Self.quietSchedule(state?.settings, bucket.quietHours)
    return DeliveryDecision.decide(
      priority: notification.priority, isMuted: bucket.isMuted, snoozedUntilMs: bucket.snoozedUntilMs,
      nowMs: context.nowMs
    ) { schedule?.releaseMs(at: $0) }
  }

  /// Returns the quiet hours that apply to a bucket: its own, or else the user's.
  static func quietSchedule(_ settings: UserSettings?, _ own: QuietHours?) -> QuietSchedule? {
    guard let hours = own ?? settings?.quietHours, !hours.windows.isEmpty else { return nil }
    guard let zone = TimeZoneRules.zone(settings?.timeZone ?? "") else { return nil }
    return QuietSchedule(hours, timeZone: zone)
  }

  /// Applies a decision to a notification and records it in the delivery log. Records a hand-over only if
  /// `isHandOverLogged`.
  func deliver(
    _ notification: inout Notification, _ decision: DeliveryDecision, user: String, nowMs: Int64,
    isHandOverLogged: Bool,
    _ transaction: WriteTransaction
  ) throws {
    notification.deliveryState = decision.state
    switch decision {
    case .send:
      notification.sendTime = notification.updateTime
      notification.releaseTime = nil
      notification.sendCount += 1
      if isHandOverLogged {
        try record(.handedOver, of: notification.id, user: user, atMs: nowMs, transaction)
      }
    case .hold(let untilMs, let outcome):
      notification.releaseTime = ProtoTimestamp(millisecondsSince1970: untilMs)
      try record(outcome, of: notification.id, user: user, atMs: nowMs, releaseAtMs: untilMs, transaction)
    case .suppress(let outcome):
      notification.releaseTime = nil
      try record(outcome, of: notification.id, user: user, atMs: nowMs, transaction)
    }
  }

  var notificationsExhausted: RPCError {
    .exhausted(
      "a user may have \(limits.notificationsPerUserMax) notifications", .notificationsExhausted,
      limit: limits.notificationsPerUserMax)
  }

  private var copiesExhausted: RPCError {
    .exhausted(
      "a call may make \(limits.copiesPerCallMax) copies for the members of shared buckets", .copiesExhausted,
      limit: limits.copiesPerCallMax)
  }
}
