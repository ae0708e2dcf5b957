import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Deleting a bucket hides it at once, for all members, and takes its notifications out in commits of bounded size. A timer
/// that is set with the first commit and cleared with the last goes on where the process was cut short.
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
  static let deletedCountSQL = "SELECT count(*) FROM buckets WHERE user_id = $1 AND deleted_at_ms IS NOT NULL"
  static let hasTimerSQL = "SELECT due_ms FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3"

  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int {
    let members = try await write { transaction in
      let bucket = try findBucket(id, user: user, field: "bucketId", transaction)
      guard bucket.role.includes(.owner) else { throw RPCError.roleMissing(.owner, field: "bucketId") }
      guard etag.isEmpty || etag == bucket.etag else {
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
      for member in members {
        let hidden = try transaction.execute(Self.hideBucketSQL, [.integer(nowMs), .text(member), .text(id)])
        guard hidden > 0 else { continue }
        try releaseBucketPlace(of: member, transaction)
        try transaction.logDeletion(bucketID: id, notificationID: "", atMs: nowMs, user: member, board)
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

  /// When a timer takes over what a call began; the call itself is done long before, or gone.
  static let resumeAfterMs: Int64 = 60_000

  /// Takes the notifications out of a hidden bucket. Called again it goes on.
  func emptyBucket(_ id: String, user: String) async throws -> Int {
    var emptied = 0
    // Bounded by the rows there may be: nothing is published into a hidden bucket.
    for _ in 0...(limits.notificationsPerUserMax / max(1, limits.bucketDeletionRows)) {
      let count = try await write { try emptyBucketStep(id, user: user, $0) }
      emptied += count
      if count < max(1, limits.bucketDeletionRows) { break }
    }
    return emptied
  }

  private func emptyBucketStep(_ id: String, user: String, _ transaction: WriteTransaction) throws -> Int {
    // Restored meanwhile: nothing more to take out.
    let isHidden = try transaction.queryOne(Self.deletedBucketSQL, [.text(user), .text(id)], { _ in true }) == true
    guard isHidden else {
      try clearTimer(.emptyBucket, id, user: user, transaction)
      return 0
    }
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    let rowsMax = max(1, limits.bucketDeletionRows)
    let rows = try transaction.query(
      Self.bucketRowsSQL, [.text(user), .text(id), .int(rowsMax)], rowsMax: rowsMax, NotificationRow.notification)
    for row in rows { try remove(row, isWithBucket: true, user: user, in: &context, transaction) }
    try context.finish(transaction)
    if !rows.isEmpty { board.changed(user) }
    if rows.count < rowsMax { try clearTimer(.emptyBucket, id, user: user, transaction) }
    return rows.count
  }

  func undeleteBucket(_ id: String, user: String) async throws -> Bucket {
    let (members, _) = try await write { transaction in
      if let there = try transaction.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket) {
        return ([String](), there)
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
          Self.hasTimerSQL, [.text(member), .text(id), .integer(TimerKind.emptyBucket.rawValue)], { _ in true })
        guard isBusy == nil else {
          throw RPCError(
            .aborted, "the bucket is still being deleted", reason: Reason.bucketBusy.rawValue, retryAfterMs: 1_000)
        }
      }
      for member in members {
        guard try transaction.execute(Self.showBucketSQL, [.text(member), .text(id)]) > 0 else { continue }
        try takeBucketPlace(of: member, transaction)
        let shown = try findBucket(id, user: member, field: "bucketId", transaction)
        try transaction.log(.bucketCreated, shown, atMs: nowMs, user: member, board)
        try setTimer(.refillBucket, id, user: member, dueMs: nowMs + Self.resumeAfterMs, transaction)
      }
      return (members, found)
    }
    for member in members { try await refillBucket(id, user: member) }
    return try bucket(id, user: user)
  }

  /// Puts back what went with a bucket. Called again it goes on.
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
