import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

extension SQLiteNotificationsRepository {
  func createNotification(
    _ draft: Notification, user: String, repeatable: RepeatableRequest?
  ) async throws -> Notification {
    try await write { transaction in
      if let notification = try replayed(Notification.self, repeatable, transaction) { return notification }
      let added = CountChange(notifications: 1, unread: 1)
      guard try transaction.addToBucket(draft.bucketId, added, user: user) else {
        throw RPCError.bucketNotFound(draft.bucketId, field: "notification.bucketId")
      }
      guard try transaction.addToUser(user, added, notificationsMax: limits.notificationsPerUserMax) else {
        throw notificationsExhausted
      }
      let notification = try insert(draft, user: user, transaction)
      try keep(notification, repeatable, transaction)
      return notification
    }
  }

  func createNotifications(
    _ entries: [NewNotification], user: String
  ) async throws -> [Result<Notification, RPCError>] {
    try await write { transaction in
      var batch = NotificationBatch(user: user, notificationsMax: limits.notificationsPerUserMax)
      var results: [Result<Notification, RPCError>] = []
      results.reserveCapacity(entries.count)
      for entry in entries { results.append(try create(entry, in: &batch, transaction)) }
      try transaction.addCounts(batch.added, user: user)
      return results
    }
  }

  /// Throws only for failures that concern the whole batch. What refuses one entry is found out before it changes anything,
  /// so that it needs no savepoint.
  private func create(
    _ entry: NewNotification, in batch: inout NotificationBatch, _ transaction: WriteTransaction
  ) throws -> Result<Notification, RPCError> {
    let draft: Notification
    switch entry.draft {
    case .success(let valid): draft = valid
    case .failure(let error): return .failure(error)
    }
    do {
      if let earlier = try replayed(Notification.self, entry.repeatable, transaction) { return .success(earlier) }
    } catch let failure as StoreError where failure.code == .requestIDReused {
      return .failure(RPCError(failure, at: entry.path))
    }
    guard try batch.hasBucket(draft.bucketId, transaction) else {
      return .failure(.bucketNotFound(draft.bucketId, field: "\(entry.path)notification.bucketId"))
    }
    guard try batch.hasRoom(transaction) else { return .failure(notificationsExhausted) }
    let notification = try insert(draft, user: batch.user, transaction)
    batch.added[draft.bucketId, default: CountChange()] += CountChange(notifications: 1, unread: 1)
    try keep(notification, entry.repeatable, transaction)
    return .success(notification)
  }

  private func insert(_ draft: Notification, user: String, _ transaction: WriteTransaction) throws -> Notification {
    let (id, nowMs) = ids.next(prefix: SortableID.notificationPrefix)
    var notification = Notification()
    for field in NotificationField.allCases { field.copy(from: draft, to: &notification) }
    notification.id = id
    notification.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    notification.updateTime = notification.createTime
    notification.sendTime = notification.priority == .noPush ? nil : notification.createTime
    notification.etag = Etag.text(version: 1)
    try transaction.execute(
      """
      INSERT INTO notifications
        (user_id, id, bucket_id, title, subtitle, body, priority, content_json, created_at_ms, updated_at_ms,
         read_at_ms, sent_at_ms, version)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, NULL, $10, 1)
      """,
      [
        .text(user), .text(id), .text(notification.bucketId), .text(notification.title), .text(notification.subtitle),
        .text(notification.body), .integer(Int64(notification.priority.rawValue)),
        .text(NotificationRow.contentJSON(notification)), .integer(nowMs),
        notification.sendTime == nil ? .null : .integer(nowMs),
      ])
    try transaction.log(.notificationCreated, notification, atMs: nowMs, user: user)
    return notification
  }

  private var notificationsExhausted: RPCError {
    .exhausted(
      "a user may have \(limits.notificationsPerUserMax) notifications", .notificationsExhausted,
      limit: limits.notificationsPerUserMax)
  }
}

/// What a batch knows of its user while it runs, and what it adds to the counts at its end.
private struct NotificationBatch {
  let user: String
  let notificationsMax: Int
  var added: [String: CountChange] = [:]
  private var knownBuckets: [String: Bool] = [:]
  private var room: Int?

  init(user: String, notificationsMax: Int) {
    self.user = user
    self.notificationsMax = notificationsMax
  }

  mutating func hasBucket(_ id: String, _ transaction: WriteTransaction) throws -> Bool {
    if let known = knownBuckets[id] { return known }
    let version = try transaction.queryOne(
      SQLiteNotificationsRepository.bucketVersionSQL, [.text(user), .text(id)]
    ) { try $0.integer(0) }
    knownBuckets[id] = version != nil
    return version != nil
  }

  /// Takes one place of the user's allowance; false when there is none.
  mutating func hasRoom(_ transaction: WriteTransaction) throws -> Bool {
    if room == nil {
      let count = try transaction.queryOne(Self.countSQL, [.text(user)]) { try $0.integer(0) }
      room = notificationsMax - Int(count ?? 0)
    }
    guard let left = room, left > 0 else { return false }
    room = left - 1
    return true
  }

  private static let countSQL = "SELECT notification_count FROM users WHERE user_id = $1"
}
