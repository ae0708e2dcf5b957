import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  static let stateSQL = "SELECT read_at_ms FROM notifications WHERE user_id = $1 AND id = $2"

  func updateNotification(
    _ change: Notification, contents: [InlineContent], fields: [NotificationField], user: String
  ) async throws -> Notification {
    try await write { transaction in
      let found = try find(change.id, user: user, field: "notification.id", transaction)
      guard Etag.allows(change.etag, version: found.version) else {
        throw RPCError.etagMismatch(field: "notification.etag", current: found.message.etag)
      }
      let old = found.message
      var notification = old
      for field in fields { field.copy(from: change, to: &notification) }
      notification.completeActions()
      guard notification != old else { return old }
      try checkContents(of: notification, beside: old, contents)
      var context = PublishingContext(nowMs: clockMs(), limits: limits)
      let others = try othersToChange(old, to: notification, user: user, in: &context, transaction)
      for content in contents { try keep(content, transaction) }
      let own = try rewrite(found, as: notification, user: user, in: &context, transaction)
      for other in others {
        let copy = try transaction.queryOne(
          Self.notificationSQL, [.text(other), .text(old.id)], NotificationRow.stored)
        guard let copy, copy.message.bucketId == old.bucketId else { continue }
        var changed = copy.message
        for field in fields { field.copy(from: change, to: &changed) }
        changed.completeActions()
        if changed != copy.message { _ = try rewrite(copy, as: changed, user: other, in: &context, transaction) }
      }
      try context.finish(transaction)
      return own
    }
  }

  /// Checks that every named content belongs to this notification or comes with the request.
  private func checkContents(
    of new: Notification, beside old: Notification, _ contents: [InlineContent]
  ) throws(RPCError) {
    var violations = Violations()
    for (index, attachment) in new.attachments.enumerated() where !attachment.contentId.isEmpty {
      let isKnown =
        old.attachments.contains { $0.contentId == attachment.contentId && $0.sizeBytes == attachment.sizeBytes }
        || contents.contains { $0.id == attachment.contentId }
      if !isKnown {
        violations.add(
          "notification.attachments[\(index)].contentId", "does not belong to this notification", .contentNotFound)
      }
    }
    try violations.check()
  }

  /// Checks that the user may make this change.
  ///
  /// - Returns: The other members whose copies the change affects.
  private func othersToChange(
    _ old: Notification, to new: Notification, user: String, in context: inout PublishingContext,
    _ transaction: WriteTransaction
  ) throws -> [String] {
    guard let bucket = try context.bucket(old.bucketId, of: user, transaction) else {
      throw RPCError.notificationNotFound(old.id, field: "notification.id")
    }
    if new.bucketId != old.bucketId {
      guard let target = try context.bucket(new.bucketId, of: user, transaction) else {
        throw RPCError.bucketNotFound(new.bucketId, field: "notification.bucketId")
      }
      for one in [bucket, target] where !one.ownerID.isEmpty || one.shareCount > 0 {
        throw RPCError(
          .failedPrecondition, "a notification cannot be moved from or to a shared bucket",
          .bucketShared,
          fieldViolations: [
            .init(
              field: "notification.bucketId", description: "the bucket is shared",
              reason: Reason.bucketShared.rawValue)
          ])
      }
      return []
    }
    guard bucket.role(nowMs: context.nowMs).includes(.publisher) else {
      throw RPCError.roleMissing(.publisher, field: "notification.id")
    }
    if bucket.ownerID.isEmpty, bucket.shareCount == 0 { return [] }
    let owner = bucket.ownerID.isEmpty ? user : bucket.ownerID
    return ([owner] + (try context.members(of: old.bucketId, owner: owner, transaction))).filter { $0 != user }
  }

  /// Writes a changed notification with a new etag, its timers, media, counts and log entry.
  ///
  /// - Parameters:
  ///   - stored: The notification before the change.
  ///   - new: The changed notification; `read_time` and `bucket_id` may change, too.
  func rewrite(
    _ stored: StoredNotification, as new: Notification, isAlert: Bool = false, user: String,
    in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Notification {
    let nowMs = context.nowMs
    let old = stored.message
    let version = stored.version + 1
    var notification = new
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: max(nowMs, stored.createdAtMs))
    notification.etag = Etag.text(version: version)
    try transaction.execute(
      NotificationRow.updateSQL, NotificationRow.arguments(notification, version: version, user: user))
    let wasUnread: Int64 = old.readTime == nil ? 1 : 0
    let isUnread: Int64 = notification.readTime == nil ? 1 : 0
    if old.bucketId != notification.bucketId {
      context.add(CountChange(notifications: -1, unread: -wasUnread), to: old.bucketId, of: user)
      context.add(CountChange(notifications: 1, unread: isUnread), to: notification.bucketId, of: user)
    } else if wasUnread != isUnread {
      context.add(CountChange(unread: isUnread - wasUnread), to: notification.bucketId, of: user)
    }
    try clearTimers(of: old, user: user, keeping: notification, transaction)
    try setTimers(notification, user: user, nowMs: nowMs, transaction)
    if old.attachments != notification.attachments {
      try dropContents(of: old, keeping: notification, user: user, transaction)
      try reference(notification, user: user, transaction)
    }
    let movedFrom = notification.bucketId == old.bucketId ? nil : old.bucketId
    try transaction.log(
      .notificationUpdated, bucketID: notification.bucketId, notificationID: notification.id, movedFrom: movedFrom,
      isAlert: isAlert, atMs: nowMs, user: user, notifier)
    return notification
  }

  func find(
    _ id: String, user: String, field: String, _ transaction: WriteTransaction
  ) throws -> StoredNotification {
    let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.stored)
    guard let found else { throw RPCError.notificationNotFound(id, field: field) }
    return found
  }

  func mark(_ ids: [String], isRead: Bool, user: String) async throws -> BulkChange {
    try await write { transaction in
      var change = try mark(ids, isRead: isRead, user: user, transaction)
      change.counts = try transaction.unreadCounts(user: user)
      return change
    }
  }

  func mark(_ ids: [String], isRead: Bool, user: String, _ transaction: WriteTransaction) throws -> BulkChange {
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    var change = BulkChange()
    for id in BulkChange.distinct(ids) {
      let found = try transaction.queryOne(Self.notificationSQL, [.text(user), .text(id)], NotificationRow.stored)
      guard let found else {
        change.missingIDs.append(id)
        continue
      }
      var marked = found.message
      guard (marked.readTime != nil) != isRead else { continue }
      marked.readTime = isRead ? ProtoTimestamp(millisecondsSince1970: context.nowMs) : nil
      if isRead { try acknowledge(&marked, user: user, nowMs: context.nowMs, transaction) }
      _ = try rewrite(found, as: marked, user: user, in: &context, transaction)
      change.count += 1
    }
    try context.finish(transaction)
    return change
  }

  /// Cancels pending deliveries of a notification that has been read.
  private func acknowledge(
    _ notification: inout Notification, user: String, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    switch notification.deliveryState {
    case .held:
      notification.deliveryState = .suppressed
      try record(.obsolete, of: notification.id, user: user, atMs: nowMs, transaction)
    case .snoozed, .postponed: notification.deliveryState = .sent
    default: return
    }
    notification.releaseTime = nil
  }

  static let unreadChunkSQL = unreadChunk("")
  static let unreadChunkOfBucketSQL = unreadChunk(" AND bucket_id = $5")
  private static func unreadChunk(_ condition: String) -> String {
    """
    SELECT id, bucket_id, delivery_state, repeat_json IS NOT NULL FROM notifications
    WHERE user_id = $1\(condition) AND read_at_ms IS NULL AND id > $2 AND id <= $3 ORDER BY id LIMIT $4
    """
  }
  static let markChunkSQL = markChunk("")
  static let markChunkOfBucketSQL = markChunk(" AND bucket_id = $5")
  private static func markChunk(_ condition: String) -> String {
    """
    UPDATE notifications SET read_at_ms = $4, updated_at_ms = $4, version = version + 1
    WHERE user_id = $1\(condition) AND read_at_ms IS NULL AND id > $2 AND id <= $3
    """
  }

  /// Marks one range of ids per commit, in ascending order, so that other writers do not wait long. Each range is
  /// logged as one event. Notifications published in the meantime have later ids and stay unread.
  func markAllRead(bucketID: String?, through last: String, user: String) async throws -> (
    changed: Int, counts: UnreadCounts
  ) {
    if let bucketID { try await requireBucket(bucketID, user: user) }
    var after = ""
    var changed = 0
    // Bounded by the maximum number of rows.
    for _ in 0...(limits.notificationsPerUserMax / max(1, limits.rowsPerCommit)) {
      let start = after
      let (count, end) = try await write { transaction in
        try markStretch(bucketID, after: start, through: last, user: user, transaction)
      }
      changed += count
      guard let end else { break }
      after = end
    }
    return (changed, try await unreadCounts(user: user))
  }

  /// Marks one range. Returns the number of marked rows, and the id after which the next range begins; nil after the
  /// last.
  private func markStretch(
    _ bucketID: String?, after: String, through last: String, user: String, _ transaction: WriteTransaction
  ) throws -> (count: Int, end: String?) {
    let nowMs = clockMs()
    let rowsMax = max(1, limits.rowsPerCommit)
    var arguments: [SQLValue] = [.text(user), .text(after), .text(last), .int(rowsMax)]
    if let bucketID { arguments.append(.text(bucketID)) }
    var counts: [String: CountChange] = [:]
    var count = 0
    var end = ""
    var waiting: [String] = []
    let sql = bucketID == nil ? Self.unreadChunkSQL : Self.unreadChunkOfBucketSQL
    try transaction.forEach(sql, arguments) { row in
      end = try row.text(0)
      count += 1
      counts[try row.text(1), default: CountChange()] += CountChange(unread: -1)
      let state = DeliveryState(rawValue: Int32(truncatingIfNeeded: try row.integer(2)))
      if try state == .held || state == .snoozed || row.bool(3) { waiting.append(end) }
      return true
    }
    guard count > 0 else { return (0, nil) }
    // Notifications with a pending delivery or repeat are changed and logged one by one; they are few.
    var context = PublishingContext(nowMs: nowMs, limits: limits)
    for id in waiting {
      let stored = try find(id, user: user, field: "notificationId", transaction)
      var marked = stored.message
      marked.readTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      try acknowledge(&marked, user: user, nowMs: nowMs, transaction)
      _ = try rewrite(stored, as: marked, user: user, in: &context, transaction)
      counts[marked.bucketId, default: CountChange()] += CountChange(unread: 1)
    }
    var mark: [SQLValue] = [.text(user), .text(after), .text(end), .integer(nowMs)]
    if let bucketID { mark.append(.text(bucketID)) }
    try transaction.execute(bucketID == nil ? Self.markChunkSQL : Self.markChunkOfBucketSQL, mark)
    try context.finish(transaction)
    try transaction.addCounts(counts, user: user)
    try transaction.log(.markedRead, bucketID: bucketID ?? "", notificationID: end, atMs: nowMs, user: user, notifier)
    return (count, count < rowsMax ? nil : end)
  }

  /// Snoozes (the notification stays unread) or postpones (it counts as read until then). A repeated request changes
  /// nothing.
  func setAside(
    _ id: String, until release: ProtoTimestamp?, state: DeliveryState, user: String
  ) async throws -> Notification {
    try await write { transaction in
      try setAside(id, until: release, state: state, user: user, transaction)
    }
  }

  func setAside(
    _ id: String, until release: ProtoTimestamp?, state: DeliveryState, user: String, _ transaction: WriteTransaction
  ) throws -> Notification {
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    let found = try find(id, user: user, field: "notificationId", transaction)
    var notification = found.message
    let nowMs = context.nowMs
    if let release = release?.storedFuture(nowMs: nowMs) {
      guard notification.deliveryState != state || notification.releaseTime != release else { return notification }
      notification.deliveryState = state
      notification.releaseTime = release
      if state == .postponed, notification.readTime == nil {
        notification.readTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      }
      try record(
        state == .postponed ? .postponed : .snoozed, of: id, user: user, atMs: nowMs,
        releaseAtMs: release.millisecondsSince1970, transaction)
    } else {
      guard state == .snoozed, notification.deliveryState == .snoozed else { return notification }
      notification.deliveryState = .sent
      notification.releaseTime = nil
    }
    let changed = try rewrite(found, as: notification, user: user, in: &context, transaction)
    try context.finish(transaction)
    return changed
  }
}

extension ProtoTimestamp {
  /// Returns the time in the stored resolution of milliseconds; nil if it is not after now.
  func storedFuture(nowMs: Int64) -> ProtoTimestamp? {
    millisecondsSince1970 > nowMs ? ProtoTimestamp(millisecondsSince1970: millisecondsSince1970) : nil
  }
}
