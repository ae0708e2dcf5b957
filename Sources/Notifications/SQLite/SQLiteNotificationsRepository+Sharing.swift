import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// A share is the member's own row of the bucket.
extension SQLiteNotificationsRepository {
  static let sharesSQL = """
    SELECT user_id, role, share_expires_at_ms, created_at_ms FROM buckets
    WHERE id = $1 AND owner_id = $2 AND owner_id <> '' AND deleted_at_ms IS NULL
    """
  static let removeBucketSQL = "DELETE FROM buckets WHERE user_id = $1 AND id = $2"
  static let countShareSQL = "UPDATE buckets SET share_count = share_count + $1 WHERE user_id = $2 AND id = $3"

  /// The caller's view of a bucket that it administers. NOT_FOUND for strangers, PERMISSION_DENIED below `role`.
  func administered(
    _ id: String, by user: String, role: BucketRole = .admin, _ transaction: ReadTransaction
  ) throws -> Bucket {
    let found = try transaction.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket)
    guard let found, (found.shareExpireTime?.millisecondsSince1970 ?? .max) > clockMs() else {
      throw RPCError.bucketNotFound(id, field: "bucketId")
    }
    guard found.role.includes(role) else { throw RPCError.roleMissing(role, field: "bucketId") }
    return found
  }

  func share(_ id: String, _ share: BucketShare, by user: String) async throws -> BucketShare {
    try await write { transaction in
      let bucket = try administered(
        id, by: user, role: share.role == .admin ? .owner : .admin, transaction)
      let member = share.userId
      guard member != bucket.ownerId else {
        throw RPCError.invalidField("userId", "is the owner of the bucket", reason: Reason.outOfRange.rawValue)
      }
      let nowMs = clockMs()
      var kept = share
      kept.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      if let old = try transaction.queryOne(Self.bucketSQL, [.text(member), .text(id)], BucketRow.bucket) {
        // By an import a user may have a bucket of the same id.
        guard old.ownerId == bucket.ownerId else {
          throw RPCError(
            .failedPrecondition, "the user has another bucket with this id", reason: Reason.bucketIDTaken.rawValue,
            fieldViolations: [
              .init(
                field: "userId", description: "has another bucket with this id",
                reason: Reason.bucketIDTaken.rawValue)
            ])
        }
        // An admin is changed by the owner alone.
        guard old.role != .admin || bucket.role == .owner else {
          throw RPCError.roleMissing(.owner, field: "userId")
        }
        kept.createTime = old.createTime
        try transaction.execute(
          "UPDATE buckets SET role = $1, share_expires_at_ms = $2 WHERE user_id = $3 AND id = $4",
          [
            .integer(Int64(share.role.rawValue)), .integer(share.expireTime?.millisecondsSince1970), .text(member),
            .text(id),
          ])
        let changed = try findBucket(id, user: member, field: "bucketId", transaction)
        _ = try rewrite(changed, nowMs: nowMs, user: member, transaction)
      } else {
        try add(member, kept, to: bucket, nowMs: nowMs, transaction)
      }
      if let expireMs = share.expireTime?.millisecondsSince1970 {
        try setTimer(.shareEnd, id, user: member, dueMs: expireMs, transaction)
      } else {
        try clearTimer(.shareEnd, id, user: member, transaction)
      }
      return kept
    }
  }

  private func add(
    _ member: String, _ share: BucketShare, to bucket: Bucket, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    let shares = try transaction.query(
      BucketState.membersSQL, [.text(bucket.id), .text(bucket.ownerId)], { try $0.text(0) })
    guard shares.count < limits.sharesPerBucketMax else {
      throw RPCError.exhausted(
        "a bucket may have \(limits.sharesPerBucketMax) shares", .sharesExhausted, limit: limits.sharesPerBucketMax)
    }
    // Imported under the same id, or left over from an earlier share that is being taken back.
    guard try transaction.queryOne(Self.deletedBucketSQL, [.text(member), .text(bucket.id)], { _ in true }) == nil
    else {
      throw RPCError(
        .aborted, "an earlier share of this user is still being taken back", reason: Reason.bucketBusy.rawValue,
        retryAfterMs: 1_000)
    }
    try takeBucketPlace(of: member, transaction)
    var row = bucket
    row.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    row.updateTime = row.createTime
    row.etag = Etag.text(version: 1)
    row.role = share.role
    row.shareExpireTime = share.expireTime
    row.isMuted = false
    row.snoozeEndTime = nil
    row.quietHours = nil
    row.retention = nil
    row.unreadCount = 0
    row.notificationCount = 0
    row.shareCount = 0
    try transaction.execute(BucketRow.insertSQL, BucketRow.inserting(row, user: member))
    try transaction.execute(Self.countShareSQL, [1, .text(bucket.ownerId), .text(bucket.id)])
    try transaction.log(.bucketCreated, row, atMs: nowMs, user: member, board)
  }

  /// Ends a share: by the owner, by an admin (but not another admin's), or by the member. Throws NOT_FOUND.
  func unshare(_ id: String, from member: String, by user: String) async throws {
    try await write { transaction in
      let bucket = try administered(id, by: user, role: member == user ? .reader : .admin, transaction)
      let row = try transaction.queryOne(Self.bucketSQL, [.text(member), .text(id)], BucketRow.bucket)
      guard let row, row.ownerId == bucket.ownerId, member != bucket.ownerId else {
        throw RPCError.missing("share", member, field: "userId", .shareNotFound)
      }
      guard row.role != .admin || member == user || bucket.role == .owner else {
        throw RPCError.roleMissing(.owner, field: "userId")
      }
      try endShare(row, of: member, transaction)
    }
    try await finishShare(id, of: member)
  }

  /// Hides the member's row; what it holds goes in steps.
  func endShare(_ row: Bucket, of member: String, _ transaction: WriteTransaction) throws {
    let nowMs = clockMs()
    try transaction.execute(Self.hideBucketSQL, [.integer(nowMs), .text(member), .text(row.id)])
    try releaseBucketPlace(of: member, transaction)
    // Out of the bucket at once: it is nobody's share any more, and its owner's restoring does not bring it back.
    try transaction.execute(
      "UPDATE buckets SET owner_id = '' WHERE user_id = $1 AND id = $2", [.text(member), .text(row.id)])
    try transaction.execute(Self.countShareSQL, [-1, .text(row.ownerId), .text(row.id)])
    try clearTimer(.shareEnd, row.id, user: member, transaction)
    try setTimer(.emptyBucket, row.id, user: member, dueMs: nowMs + Self.resumeAfterMs, transaction)
    try transaction.logDeletion(bucketID: row.id, notificationID: "", atMs: nowMs, user: member, board)
  }

  /// Takes the copies of a former member away for good, and then the row. Called again it goes on.
  func finishShare(_ id: String, of member: String) async throws {
    let rowsMax = max(1, limits.bucketDeletionRows)
    for _ in 0...(limits.notificationsPerUserMax / rowsMax) {
      let count = try await write { transaction in
        let row = try transaction.queryOne(Self.deletedBucketSQL, [.text(member), .text(id)], BucketRow.bucket)
        guard let row, row.role != .owner, row.ownerId == member else { return 0 }
        var context = PublishingContext(nowMs: clockMs(), limits: limits)
        let rows = try transaction.query(
          Self.bucketRowsSQL, [.text(member), .text(id), .int(rowsMax)], rowsMax: rowsMax,
          NotificationRow.notification)
        for one in rows { try destroy(one, user: member, in: &context, transaction) }
        try context.finish(transaction)
        if rows.count < rowsMax {
          try transaction.execute(Self.removeBucketSQL, [.text(member), .text(id)])
          try clearTimer(.emptyBucket, id, user: member, transaction)
        }
        return rows.count
      }
      if count < rowsMax { return }
    }
  }

  func shares(of id: String, by user: String) throws -> [BucketShare] {
    try read { transaction in
      let bucket = try administered(id, by: user, transaction)
      let found = try transaction.query(Self.sharesSQL, [.text(id), .text(bucket.ownerId)]) { row in
        var share = BucketShare()
        share.userId = try row.text(0)
        share.role = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(1)))
        share.expireTime = try row.integerIfPresent(2).map { ProtoTimestamp(millisecondsSince1970: $0) }
        share.createTime = ProtoTimestamp(millisecondsSince1970: try row.integer(3))
        return share
      }
      return found.sorted { $0.userId < $1.userId }
    }
  }
}
