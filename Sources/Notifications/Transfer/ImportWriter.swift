import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Stores the entries of one commit in order, and updates counts and the change log.
struct ImportWriter {
  enum Outcome: Sendable {
    case imported
    /// The entry already existed and was not changed.
    case kept
    case refused(RPCError)
  }

  private let transaction: WriteTransaction
  private let user: String
  private let limits: NotificationsLimits
  private let nowMs: Int64
  private let notifier: CommitNotifier
  private var counts: [String: CountChange] = [:]
  private var buckets: [String: Bool] = [:]
  private var room: Int

  static let userSQL = """
    INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through)
    VALUES ($1, 0, 0, 0, 0) ON CONFLICT (user_id) DO NOTHING
    """
  static let userCountSQL = "SELECT notification_count FROM users WHERE user_id = $1"
  static let settingsSQL = """
    UPDATE users SET settings_json = $1, settings_version = 1, has_quiet_hours = $2
    WHERE user_id = $3 AND settings_json IS NULL
    """
  static let knownBucketSQL = "SELECT deleted_at_ms IS NULL FROM buckets WHERE user_id = $1 AND id = $2"
  static let knownNotificationSQL = """
    SELECT 1 FROM notifications WHERE user_id = $1 AND id = $2
    UNION ALL SELECT 1 FROM deleted_notifications WHERE user_id = $1 AND id = $2
    UNION ALL SELECT 1 FROM scheduled WHERE user_id = $1 AND id = $2
    """
  static let collapseSQL = """
    SELECT id FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND collapse_key = $3
    """

  init(
    _ transaction: WriteTransaction, user: String, limits: NotificationsLimits, nowMs: Int64, notifier: CommitNotifier
  ) throws {
    self.transaction = transaction
    self.notifier = notifier
    self.user = user
    self.limits = limits
    self.nowMs = nowMs
    try transaction.execute(Self.userSQL, [.text(user)])
    let count = try transaction.queryOne(Self.userCountSQL, [.text(user)]) { try $0.integer(0) } ?? 0
    room = limits.notificationsPerUserMax - Int(count)
  }

  /// Stores one entry. Throws only errors of the store; an entry is rejected before any part of it is stored.
  mutating func keep(_ content: ImportEntry.Content) throws -> Outcome {
    switch content {
    case .settings(let settings):
      let changed = try transaction.executeCounting(
        Self.settingsSQL, [.text(settings.jsonString()), .bool(settings.concernsQuietHours), .text(user)])
      return changed > 0 ? .imported : .kept
    case .bucket(let bucket): return try keep(bucket)
    case .notification(let notification, let contents): return try keep(notification, contents)
    case .scheduled(let notification, let contents): return try schedule(notification, contents)
    case .blockedUser(let blocked): return try keep(blocked)
    case .automation(let kind, let id, let payload):
      let key: [SQLValue] = [.text(user), .integer(kind.rawValue), .text(id)]
      if try transaction.queryOne(AutomationTable.oneSQL, key, { _ in true }) == true { return .kept }
      return try Self.orRefused { try transaction.addAutomation(kind, id, payload: payload, user: user) }
    }
  }

  /// Adds the counts of the stored entries. The last step before the commit.
  func finish() throws { try transaction.addCounts(counts, user: user) }

  private mutating func keep(_ bucket: Bucket) throws -> Outcome {
    let known = try transaction.queryOne(Self.knownBucketSQL, [.text(user), .text(bucket.id)]) { try $0.bool(0) }
    if known != nil { return .kept }
    let joined = try transaction.executeCounting(
      "UPDATE users SET bucket_count = bucket_count + 1 WHERE user_id = $1 AND bucket_count < $2",
      [.text(user), .int(limits.bucketsPerUserMax)])
    guard joined > 0 else {
      return .refused(
        .exhausted(
          "a user may have \(limits.bucketsPerUserMax) buckets", .bucketsExhausted, limit: limits.bucketsPerUserMax))
    }
    var bucket = bucket
    bucket.role = .owner
    bucket.ownerId = user
    try transaction.execute(BucketRow.insertSQL, BucketRow.inserting(bucket, user: user))
    buckets[bucket.id] = true
    try transaction.log(.bucketCreated, bucketID: bucket.id, atMs: nowMs, user: user, notifier)
    return .imported
  }

  private func keep(_ blocked: BlockedUser) throws -> Outcome {
    typealias Repository = SQLiteNotificationsRepository
    guard blocked.userId != user else {
      return .refused(
        .invalidField("entry.blockedUser.userId", "must be another user", .outOfRange))
    }
    let other = SQLValue.text(blocked.userId)
    if try transaction.queryOne(Repository.isBlockedSQL, [.text(user), other, other], { _ in true }) == true {
      return .kept
    }
    let count = try transaction.queryOne(Repository.blockedCountSQL, [.text(user)]) { try $0.integer(0) } ?? 0
    guard count < Int64(limits.blockedUsersPerUserMax) else {
      return .refused(.blockedUsersExhausted(limits))
    }
    let timeMs = blocked.createTime?.millisecondsSince1970 ?? nowMs
    try transaction.execute(Repository.blockSQL, [.text(user), other, .integer(timeMs)])
    try transaction.execute(Repository.hideSQL, [.text(user), other])
    return .imported
  }

  private mutating func keep(_ notification: Notification, _ contents: [String: [UInt8]]) throws -> Outcome {
    if let settled = try settled(notification, path: "entry.notification.notification") { return settled }
    if !notification.collapseKey.isEmpty {
      let earlier = try transaction.queryOne(
        Self.collapseSQL, [.text(user), .text(notification.bucketId), .text(notification.collapseKey)]
      ) { try $0.text(0) }
      if earlier != nil {
        return .refused(
          .invalidField(
            "entry.notification.notification.collapseKey", "belongs to another notification of the bucket",
            .collapseKeyTaken))
      }
    }
    guard room > 0 else {
      return .refused(
        .exhausted(
          "a user may have \(limits.notificationsPerUserMax) notifications", .notificationsExhausted,
          limit: limits.notificationsPerUserMax))
    }
    room -= 1
    try transaction.execute(
      NotificationRow.insertSQL, NotificationRow.arguments(notification, version: 1, user: user))
    try keepContents(contents, of: notification)
    if let time = notification.expireTime { try setTimer(.expire, notification.id, time) }
    let unread: Int64 = notification.readTime == nil ? 1 : 0
    counts[notification.bucketId, default: CountChange()] += CountChange(notifications: 1, unread: unread)
    try transaction.log(
      .notificationCreated, bucketID: notification.bucketId, notificationID: notification.id, atMs: nowMs, user: user,
      notifier)
    return .imported
  }

  private mutating func schedule(_ notification: Notification, _ contents: [String: [UInt8]]) throws -> Outcome {
    if let settled = try settled(notification, path: "entry.scheduled.notification") { return settled }
    guard let time = notification.deliverTime else {
      return .refused(.invalidField("entry.scheduled.notification.deliverTime", "must be given", reason: "REQUIRED"))
    }
    let taken = try Self.orRefused { try transaction.reserveScheduled(of: user, limits) }
    guard case .imported = taken else { return taken }
    try transaction.addScheduled(notification, atMs: time.millisecondsSince1970, user: user)
    try keepContents(contents, of: notification)
    try setTimer(.deliver, notification.id, time)
    return .imported
  }

  /// Returns the outcome of a step that throws an `RPCError` before it changes anything.
  private static func orRefused(_ step: () throws -> Void) throws -> Outcome {
    do {
      try step()
      return .imported
    } catch let refusal as RPCError {
      return .refused(refusal)
    }
  }

  /// Returns `kept` if the notification already exists, a rejection if its bucket does not, and nil otherwise.
  private mutating func settled(_ notification: Notification, path: String) throws -> Outcome? {
    let key: [SQLValue] = [.text(user), .text(notification.id)]
    if try transaction.queryOne(Self.knownNotificationSQL, key, { try $0.integer(0) }) != nil { return .kept }
    let id = notification.bucketId
    if buckets[id] == nil {
      buckets[id] =
        try transaction.queryOne(Self.knownBucketSQL, [.text(user), .text(id)]) { try $0.bool(0) } ?? false
    }
    return buckets[id] == true ? nil : .refused(.bucketNotFound(id, field: "\(path).bucketId"))
  }

  private func keepContents(_ contents: [String: [UInt8]], of notification: Notification) throws {
    for (id, data) in contents {
      try transaction.execute(
        "INSERT INTO contents (content_id, data) VALUES ($1, $2) ON CONFLICT (content_id) DO NOTHING",
        [.text(id), .blob(data)])
      try transaction.execute(
        "INSERT INTO content_refs (user_id, notification_id, content_id) VALUES ($1, $2, $3)",
        [.text(user), .text(notification.id), .text(id)])
    }
  }

  private func setTimer(_ kind: NotificationTimerKind, _ subject: String, _ time: ProtoTimestamp) throws {
    try transaction.setTimer(kind, subject, user: user, dueMs: time.millisecondsSince1970, notifier)
  }
}
