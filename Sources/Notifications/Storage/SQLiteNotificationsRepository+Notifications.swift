import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

extension SQLiteNotificationsRepository {
  func create(_ notification: Notification, user: String, request: RequestKey?) async throws -> Notification {
    try await changeOnce(user: user, request: request) { [self] tx in
      try insert(notification, user, at: "notification", tx)
    }
  }

  func create(
    _ entries: [(notification: Notification, request: RequestKey?)], user: String
  ) async throws -> [Result<Notification, RPCError>] {
    try await change(user: user) { [self] tx in
      try entries.enumerated().map { index, entry in
        do {
          let made = try Self.once(entry.request, user: user, nowMs: nowMs(), tx) { tx in
            try insert(entry.notification, user, at: "requests[\(index)].notification", tx)
          }
          return .success(made)
        } catch let error as RPCError {
          // What an entry is refused for is found before it changes anything.
          return .failure(error)
        } catch let error as StoreError where error.code == .requestIDReused {
          return .failure(error.rpcError)
        }
      }
    }
  }

  private func insert(_ draft: Notification, _ user: String, at path: String, _ tx: WriteTransaction) throws
    -> Notification
  {
    guard try Self.count(draft.bucketId, unread: 1, total: 1, user: user, tx) else {
      throw Self.notFound("bucket", draft.bucketId, field: "\(path).bucket_id")
    }
    let now = nowMs()
    var made = Notification()
    UpdateMasks.apply(draft, to: &made, Set(UpdateMasks.notificationFields))
    made.id = ids.next(.notification)
    if made.priority == .unspecified { made.priority = .normal }
    made.createTime = ProtoTimestamp(millisecondsSince1970: now)
    made.updateTime = made.createTime
    made.etag = Records.etag(1)
    try tx.execute(
      """
      INSERT INTO notifications (user_id, id, bucket_id, title, subtitle, body, priority, content, created_at_ms, updated_at_ms, version)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 1)
      """,
      [
        .text(user), .text(made.id), .text(made.bucketId), .text(made.title), .text(made.subtitle), .text(made.body),
        .integer(Int64(made.priority.rawValue)), .text(Records.content(made)), .integer(now),
      ])
    try Self.log(.notificationCreated(made), bucketID: made.bucketId, user: user, nowMs: now, tx)
    return made
  }

  func update(_ change: Notification, fields: Set<String>, user: String) async throws -> Notification {
    try await self.change(user: user) { [nowMs] tx in
      guard var stored = try Self.notification(change.id, user, tx) else {
        throw Self.notFound("notification", change.id, field: "notification.id")
      }
      try Self.checkETag(change.etag, stored.etag)
      let before = stored
      UpdateMasks.apply(change, to: &stored, fields)
      if stored.priority == .unspecified { stored.priority = .normal }
      if stored == before { return stored }
      if stored.bucketId != before.bucketId {
        let unread = stored.readTime == nil ? 1 : 0
        guard try Self.count(stored.bucketId, unread: unread, total: 1, user: user, tx) else {
          throw Self.notFound("bucket", stored.bucketId, field: "notification.bucket_id")
        }
        _ = try Self.count(before.bucketId, unread: -unread, total: -1, user: user, tx)
      }
      let now = nowMs()
      let version = (Int64(stored.etag, radix: 36) ?? 0) + 1
      stored.updateTime = ProtoTimestamp(millisecondsSince1970: now)
      stored.etag = Records.etag(version)
      try tx.execute(
        """
        UPDATE notifications SET bucket_id = $3, title = $4, subtitle = $5, body = $6, priority = $7, content = $8,
          updated_at_ms = $9, version = $10
        WHERE user_id = $1 AND id = $2
        """,
        [
          .text(user), .text(stored.id), .text(stored.bucketId), .text(stored.title), .text(stored.subtitle),
          .text(stored.body), .integer(Int64(stored.priority.rawValue)), .text(Records.content(stored)), .integer(now),
          .integer(version),
        ])
      try Self.log(.notificationUpdated(stored), bucketID: stored.bucketId, user: user, nowMs: now, tx)
      return stored
    }
  }

  func setRead(_ isRead: Bool, ids: [String], user: String) async throws -> (changed: Int, counts: UnreadCounts) {
    try await change(user: user) { [nowMs] tx in
      let now = nowMs()
      var changed = 0
      for (index, id) in ids.enumerated() {
        guard var stored = try Self.notification(id, user, tx) else {
          throw Self.notFound("notification", id, field: "notification_ids[\(index)]")
        }
        guard (stored.readTime != nil) != isRead else { continue }
        changed += 1
        let version = (Int64(stored.etag, radix: 36) ?? 0) + 1
        stored.readTime = isRead ? ProtoTimestamp(millisecondsSince1970: now) : nil
        stored.updateTime = ProtoTimestamp(millisecondsSince1970: now)
        stored.etag = Records.etag(version)
        try tx.execute(
          "UPDATE notifications SET read_at_ms = $3, updated_at_ms = $4, version = $5 WHERE user_id = $1 AND id = $2",
          [.text(user), .text(id), .integer(isRead ? now : nil), .integer(now), .integer(version)])
        _ = try Self.count(stored.bucketId, unread: isRead ? -1 : 1, total: 0, user: user, tx)
        try Self.log(.notificationUpdated(stored), bucketID: stored.bucketId, user: user, nowMs: now, tx)
      }
      return (changed, try Self.unreadCounts(user, tx))
    }
  }

  func delete(ids: [String], user: String) async throws -> (deleted: Int, counts: UnreadCounts) {
    try await change(user: user) { [nowMs] tx in
      let now = nowMs()
      var count = 0
      for id in ids {
        guard let stored = try Self.notification(id, user, tx) else { continue }
        try tx.execute("DELETE FROM notifications WHERE user_id = $1 AND id = $2", [.text(user), .text(id)])
        _ = try Self.count(stored.bucketId, unread: stored.readTime == nil ? -1 : 0, total: -1, user: user, tx)
        var deleted = WatchNotificationsResponse.NotificationDeleted()
        deleted.notificationId = id
        deleted.bucketId = stored.bucketId
        try Self.log(.notificationDeleted(deleted), bucketID: stored.bucketId, user: user, nowMs: now, tx)
        count += 1
      }
      return (count, try Self.unreadCounts(user, tx))
    }
  }
}
