import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Deletion hides a bucket at once for all members and removes its notifications in commits of bounded size. The first
/// commit sets a timer and the last clears it; after a crash, the timer resumes the work.
extension SQLiteNotificationsRepository {
  static let hideBucketSQL = """
    UPDATE buckets SET deleted_at_ms = $1, version = version + 1 WHERE user_id = $2 AND id = $3 AND deleted_at_ms IS NULL
    """
  static let showBucketSQL = """
    UPDATE buckets SET deleted_at_ms = NULL, version = version + 1
    WHERE user_id = $1 AND id = $2 AND deleted_at_ms IS NOT NULL
    """
  static let bucketRowsSQL = """
    SELECT \(NotificationRow.columns) FROM notifications WHERE user_id = $1 AND bucket_id = $2 ORDER BY id LIMIT $3
    """
  static let trashedOfBucketSQL = """
    SELECT payload FROM deleted_notifications
    WHERE user_id = $1 AND bucket_id = $2 AND id > $3 AND is_with_bucket = 1 ORDER BY id LIMIT $4
    """
  /// Counts only the user's own buckets: members' rows are hidden and shown together with the owner's.
  static let deletedCountSQL = """
    SELECT count(*) FROM buckets WHERE user_id = $1 AND deleted_at_ms IS NOT NULL AND owner_id = ''
    """
  static let hasTimerSQL = "SELECT due_ms FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3"

  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int {
    let members = try await write { transaction in
      let bucket = try findBucket(id, user: user, field: "bucketId", transaction)
      guard bucket.role.includes(.owner) else { throw RPCError.roleMissing(.owner, field: "bucketId") }
      guard BucketEtag.allows(etag, bucket) else {
        throw RPCError.etagMismatch(field: "etag", current: bucket.etag)
      }
      let deletedCount = try transaction.queryOne(Self.deletedCountSQL, [.text(user)]) { try $0.integer(0) }
      guard (deletedCount ?? 0) < Int64(limits.bucketsPerUserMax) else {
        throw RPCError.exhausted(
          "a user may have \(limits.bucketsPerUserMax) deleted buckets for 30 days", .bucketsExhausted,
          limit: limits.bucketsPerUserMax)
      }
      let members = [user] + (try self.members(of: bucket, beside: user, transaction))
      let nowMs = clockMs()
      try withdraw(of: id, owner: user, transaction)
      for member in members {
        let hidden = try transaction.executeCounting(Self.hideBucketSQL, [.integer(nowMs), .text(member), .text(id)])
        guard hidden > 0 else { continue }
        if member == user {
          try releaseBucket(of: member, transaction)
        } else {
          try releaseSharedBucket(of: member, transaction)
        }
        try transaction.logDeletion(bucketID: id, notificationID: "", atMs: nowMs, user: member, notifier)
        try setTimer(.emptyBucket, id, user: member, dueMs: nowMs + Self.resumeAfterMs, transaction)
        try clearTimer(.refillBucket, id, user: member, transaction)
      }
      return members
    }
    var deleted = 0
    for member in members {
      let count = try await emptyBucket(id, user: member)
      if member == user { deleted = count }
    }
    return deleted
  }

  /// The delay until a timer resumes an interrupted call; by then, the call has normally completed.
  static let resumeAfterMs: Int64 = 60_000

  /// Removes the notifications of a hidden bucket. A repeated call continues the work.
  func emptyBucket(_ id: String, user: String) async throws -> Int {
    var emptied = 0
    // Bounded by the maximum number of rows: nothing is published into a hidden bucket.
    for _ in 0...(limits.notificationsPerUserMax / max(1, limits.bucketDeletionRows)) {
      let count = try await write { try emptyBucketStep(id, user: user, $0) }
      emptied += count
      if count < max(1, limits.bucketDeletionRows) { break }
    }
    return emptied
  }

  private func emptyBucketStep(_ id: String, user: String, _ transaction: WriteTransaction) throws -> Int {
    // The bucket was restored in the meantime: nothing is left to remove.
    let hidden = try transaction.queryOne(Self.deletedBucketSQL, [.text(user), .text(id)], BucketRow.bucket)
    guard let hidden else {
      try clearTimer(.emptyBucket, id, user: user, transaction)
      return 0
    }
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    let rowsMax = max(1, limits.bucketDeletionRows)
    let rows = try transaction.query(
      Self.bucketRowsSQL, [.text(user), .text(id), .int(rowsMax)], rowsMax: rowsMax, NotificationRow.notification)
    let isShared = hidden.role != .owner
    for row in rows {
      try remove(row, isWithBucket: true, isShared: isShared, user: user, in: &context, transaction)
    }
    try context.finish(transaction)
    if !rows.isEmpty { notifier.changed(user) }
    if rows.count < rowsMax { try clearTimer(.emptyBucket, id, user: user, transaction) }
    return rows.count
  }

  func undeleteBucket(_ id: String, user: String) async throws -> Bucket {
    let (members, former) = try await write { transaction in
      if try transaction.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket) != nil {
        return ([String](), [String]())
      }
      let found = try transaction.queryOne(Self.deletedBucketSQL, [.text(user), .text(id)], BucketRow.bucket)
      guard let found, found.role.includes(.owner) else {
        throw RPCError.bucketNotFound(id, field: "bucketId")
      }
      let nowMs = clockMs()
      guard (found.purgeTime?.millisecondsSince1970 ?? 0) > nowMs else {
        throw RPCError.bucketNotFound(id, field: "bucketId")
      }
      let members = [user] + (try self.members(of: found, beside: user, transaction))
      for member in members {
        let isBusy = try transaction.queryOne(
          Self.hasTimerSQL, [.text(member), .text(id), .integer(NotificationTimerKind.emptyBucket.rawValue)],
          { _ in true })
        guard isBusy == nil else {
          throw RPCError(.aborted, "the bucket is still being deleted", .bucketBusy, retryAfterMs: 1_000)
        }
      }
      var former: [String] = []
      for member in members {
        guard try transaction.executeCounting(Self.showBucketSQL, [.text(member), .text(id)]) > 0 else { continue }
        if member == user {
          try reserveBucket(of: member, transaction)
        } else {
          try reserveSharedBucket(of: member, max: nil, transaction)
        }
        let shown = try findBucket(id, user: member, field: "bucketId", transaction)
        // The timer of the share found no row while the bucket was deleted.
        if member != user, let endMs = shown.shareExpireTime?.millisecondsSince1970, endMs <= nowMs {
          try endShare(shown, of: member, transaction)
          former.append(member)
          continue
        }
        try transaction.log(.bucketCreated, bucketID: id, atMs: nowMs, user: member, notifier)
        try setTimer(.refillBucket, id, user: member, dueMs: nowMs + Self.resumeAfterMs, transaction)
      }
      return (members.filter { !former.contains($0) }, former)
    }
    for member in former { try await finishShare(id, of: member) }
    for member in members { try await refillBucket(id, user: member) }
    return try await bucket(id, user: user)
  }

  /// Restores the notifications deleted with a bucket. A repeated call continues the work.
  func refillBucket(_ id: String, user: String) async throws {
    var after = ""
    for _ in 0...(limits.notificationsPerUserMax / max(1, limits.bucketDeletionRows)) {
      let start = after
      let end = try await write { try refillBucketStep(id, after: start, user: user, $0) }
      guard let end else { return }
      after = end
    }
  }

  private func refillBucketStep(
    _ id: String, after: String, user: String, _ transaction: WriteTransaction
  ) throws -> String? {
    let rowsMax = max(1, limits.bucketDeletionRows)
    let rows = try transaction.query(
      Self.trashedOfBucketSQL, [.text(user), .text(id), .text(after), .int(rowsMax)], rowsMax: rowsMax
    ) { row in
      try StoredJSON.message(Notification.self, row, 0, "a deleted notification")
    }
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    for row in rows { _ = try restore(row, user: user, in: &context, transaction) }
    try context.finish(transaction)
    guard rows.count == rowsMax else {
      try clearTimer(.refillBucket, id, user: user, transaction)
      return nil
    }
    return rows.last?.id
  }
}
