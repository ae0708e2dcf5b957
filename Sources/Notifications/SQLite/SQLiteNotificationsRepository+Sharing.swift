import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The outcome of sharing a bucket with a user.
enum ShareOutcome: Sendable, Hashable {
  case shared(BucketShare)
  case invited(Invitation)
}

/// Shares. A share is the member's own row of the bucket.
extension SQLiteNotificationsRepository {
  static let sharesSQL = """
    SELECT user_id, role, share_expires_at_ms, created_at_ms FROM buckets
    WHERE id = $1 AND owner_id = $2 AND owner_id <> '' AND deleted_at_ms IS NULL AND user_id > $3
    ORDER BY user_id LIMIT $4
    """
  static let removeBucketSQL = "DELETE FROM buckets WHERE user_id = $1 AND id = $2"
  static let countShareSQL = "UPDATE buckets SET share_count = share_count + $1 WHERE user_id = $2 AND id = $3"

  /// Returns the caller's view of a bucket that the caller administers. Throws NOT_FOUND for strangers and
  /// PERMISSION_DENIED below `role`.
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

  func share(_ id: String, _ share: BucketShare, by user: String) async throws -> ShareOutcome {
    try await write { transaction in
      let bucket = try administered(
        id, by: user, role: share.role == .admin ? .owner : .admin, transaction)
      let member = share.userId
      guard let old = try membership(ofOther: member, in: bucket, transaction) else {
        let terms = InvitationTerms(
          bucketID: id, userID: member, role: share.role, shareExpireTime: share.expireTime)
        return .invited(try invite(terms, to: bucket, by: user, transaction))
      }
      // Only the owner may change an admin's share.
      guard old.role != .admin || bucket.role == .owner else {
        throw RPCError.roleMissing(.owner, field: "userId")
      }
      var kept = share
      kept.createTime = old.createTime
      try change(old, to: share, transaction)
      return .shared(kept)
    }
  }

  private func change(_ old: Bucket, to share: BucketShare, _ transaction: WriteTransaction) throws {
    let (member, id) = (share.userId, old.id)
    try transaction.execute(
      "UPDATE buckets SET role = $1, share_expires_at_ms = $2 WHERE user_id = $3 AND id = $4",
      [
        .integer(Int64(share.role.rawValue)), .integer(share.expireTime?.millisecondsSince1970), .text(member),
        .text(id),
      ])
    let changed = try findBucket(id, user: member, field: "bucketId", transaction)
    _ = try rewrite(changed, nowMs: clockMs(), user: member, transaction)
    if let expireMs = share.expireTime?.millisecondsSince1970 {
      try setTimer(.shareEnd, id, user: member, dueMs: expireMs, transaction)
    } else {
      try clearTimer(.shareEnd, id, user: member, transaction)
    }
    if old.role == .admin, share.role != .admin {
      try withdraw(of: id, owner: old.ownerId, madeBy: member, transaction)
    }
  }

  /// Ends a share. Permitted to the owner, to an admin (except for another admin's share) and to the member. Throws
  /// NOT_FOUND.
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
      if member == user { try recordLeaving(row, of: member, transaction) }
      try endShare(row, of: member, transaction)
    }
    try await finishShare(id, of: member)
  }

  /// Hides the member's row. Its notifications are removed afterwards in several commits.
  func endShare(_ row: Bucket, of member: String, _ transaction: WriteTransaction) throws {
    let nowMs = clockMs()
    try transaction.execute(Self.hideBucketSQL, [.integer(nowMs), .text(member), .text(row.id)])
    try releaseSharedBucket(of: member, transaction)
    if row.role == .admin { try withdraw(of: row.id, owner: row.ownerId, madeBy: member, transaction) }
    // Detach the row from the owner at once, so that it no longer counts as a share and undeleting the bucket does not
    // restore it.
    try transaction.execute(
      "UPDATE buckets SET owner_id = '' WHERE user_id = $1 AND id = $2", [.text(member), .text(row.id)])
    try transaction.execute(Self.countShareSQL, [-1, .text(row.ownerId), .text(row.id)])
    try clearTimer(.shareEnd, row.id, user: member, transaction)
    try setTimer(.emptyBucket, row.id, user: member, dueMs: nowMs + Self.resumeAfterMs, transaction)
    try transaction.logDeletion(bucketID: row.id, notificationID: "", atMs: nowMs, user: member, notifier)
  }

  /// Permanently deletes the copies of a former member, and then the row. A repeated call continues the work.
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

  func shares(of id: String, _ query: PositionQuery) async throws -> [BucketShare] {
    try await read { transaction in
      let bucket = try administered(id, by: query.user, transaction)
      let arguments: [SQLValue] = [
        .text(id), .text(bucket.ownerId), .text(query.position.first ?? ""), .int(query.pageSize + 1),
      ]
      return try transaction.query(Self.sharesSQL, arguments) { row in
        BucketShare(
          userId: try row.text(0), role: .init(rawValue: Int32(truncatingIfNeeded: try row.integer(1))),
          expireTime: try row.integerIfPresent(2).map { ProtoTimestamp(millisecondsSince1970: $0) },
          createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(3)))
      }
    }
  }
}
