import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Joining a bucket, declining an invitation, and leaving.
extension SQLiteNotificationsRepository {
  static let acceptedSQL = """
    UPDATE invitations SET state = 2, ends_at_ms = $4 WHERE owner_id = $1 AND bucket_id = $2 AND user_id = $3
    """

  func acceptInvitation(_ id: String, by user: String) async throws -> Bucket {
    try await write { transaction in
      let row = try received(id, by: user, transaction)
      let invitation = row.invitation
      let owners = try transaction.queryOne(
        Self.bucketSQL, [.text(invitation.ownerId), .text(invitation.bucketId)], BucketRow.bucket)
      guard let owners, owners.role == .owner else { throw RPCError.invitationEnded(.cancelled) }
      if let known = try membership(of: user, in: owners, transaction) { return known }
      let state = row.state(nowMs: clockMs())
      guard state == .pending else { throw RPCError.invitationEnded(state) }
      let share = BucketShare(userId: user, role: invitation.role, expireTime: invitation.shareExpireTime)
      return try join(share, to: owners, field: "invitationId", transaction)
    }
  }

  func declineInvitation(_ id: String, by user: String) async throws {
    try await write { transaction in
      let row = try received(id, by: user, transaction)
      switch row.invitation.state {
      case .pending: try end(row, as: .declined, transaction)
      case .declined: return
      default: throw RPCError.invitationEnded(row.invitation.state)
      }
    }
  }

  private func received(_ id: String, by user: String, _ transaction: WriteTransaction) throws -> InvitationRow {
    let row = try transaction.queryOne(InvitationRow.byIDSQL, [.text(id)], InvitationRow.init)
    guard let row, row.invitation.userId == user, !row.isHidden else { throw RPCError.invitationNotFound(id) }
    return row
  }

  /// Returns the result of `membership(of:in:)`. Throws INVALID_ARGUMENT if the user is the owner.
  func membership(
    ofOther user: String, in bucket: Bucket, _ transaction: ReadTransaction
  ) throws -> Bucket? {
    guard user != bucket.ownerId else {
      throw RPCError.invalidField("userId", "is the owner of the bucket", .outOfRange)
    }
    return try membership(of: user, in: bucket, transaction)
  }

  /// Returns the user's view of a bucket as a member, or nil if the user is not a member.
  ///
  /// Throws ABORTED, reason `BUCKET_BUSY`, while an expired share is being removed.
  func membership(of user: String, in bucket: Bucket, _ transaction: ReadTransaction) throws -> Bucket? {
    let row = try transaction.queryOne(Self.bucketSQL, [.text(user), .text(bucket.id)], BucketRow.bucket)
    // After an import, a user may have a bucket with the same id.
    guard let row, row.ownerId == bucket.ownerId, row.role != .owner else { return nil }
    guard (row.shareExpireTime?.millisecondsSince1970 ?? .max) > clockMs() else { throw Self.shareIsEnding }
    return row
  }

  private static var shareIsEnding: RPCError {
    RPCError(.aborted, "an earlier share of this user is still being removed", .bucketBusy, retryAfterMs: 1_000)
  }

  /// Adds the member's own row of a bucket.
  ///
  /// - Parameters:
  ///   - bucket: The owner's row.
  ///   - field: The request field that carries the member's invitation or code.
  func join(
    _ share: BucketShare, to bucket: Bucket, field: String, _ transaction: WriteTransaction
  ) throws -> Bucket {
    let (member, nowMs) = (share.userId, clockMs())
    let shares = try transaction.query(
      BucketState.membersSQL, [.text(bucket.id), .text(bucket.ownerId)], { try $0.text(0) })
    guard shares.count < limits.sharesPerBucketMax else {
      throw RPCError.exhausted(
        "a bucket may have \(limits.sharesPerBucketMax) shares", .sharesExhausted, limit: limits.sharesPerBucketMax)
    }
    guard try transaction.queryOne(Self.bucketVersionSQL, [.text(member), .text(bucket.id)], { _ in true }) == nil
    else {
      throw RPCError.failedPrecondition(field, "you have imported a bucket with the same id", .bucketIDTaken)
    }
    // Imported under the same id, or left over from an earlier share that is still being removed.
    guard try transaction.queryOne(Self.deletedBucketSQL, [.text(member), .text(bucket.id)], { _ in true }) == nil
    else { throw Self.shareIsEnding }
    try reserveSharedBucket(of: member, max: limits.sharedBucketsPerUserMax, transaction)
    var row = bucket
    row.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    row.updateTime = row.createTime
    row.role = share.role
    row.shareExpireTime = share.expireTime
    row.settings = BucketSettings(bucketId: bucket.id, etag: Etag.text(version: 1))
    row.unreadCount = 0
    row.notificationCount = 0
    row.shareCount = nil
    row.etag = BucketEtag.text(version: 1, row)
    try transaction.execute(BucketRow.insertSQL, BucketRow.inserting(row, user: member))
    try transaction.execute(Self.countShareSQL, [1, .text(bucket.ownerId), .text(bucket.id)])
    if let expireMs = share.expireTime?.millisecondsSince1970 {
      try setTimer(.shareEnd, bucket.id, user: member, dueMs: expireMs, transaction)
    }
    try transaction.execute(
      Self.acceptedSQL, [.text(bucket.ownerId), .text(bucket.id), .text(member), .integer(nowMs)])
    try transaction.log(.bucketCreated, bucketID: row.id, atMs: nowMs, user: member, notifier)
    return row
  }

  /// Records that a member has left, so that the bucket cannot invite the user again at once.
  func recordLeaving(_ row: Bucket, of member: String, _ transaction: WriteTransaction) throws {
    let key: [SQLValue] = [.text(row.ownerId), .text(row.id), .text(member)]
    if let known = try transaction.queryOne(InvitationRow.ofMemberSQL, key, InvitationRow.init) {
      return try end(known, as: .declined, transaction)
    }
    let (id, nowMs) = ids.next(prefix: SortableID.invitationPrefix)
    let invitation = Invitation(
      id: id, bucketId: row.id, bucketName: row.name, ownerId: row.ownerId, inviterId: row.ownerId, userId: member,
      role: row.role, createTime: ProtoTimestamp(millisecondsSince1970: nowMs), state: .declined)
    let left = InvitationRow(invitation, endsAtMs: clockMs(), isHidden: false)
    try transaction.execute(InvitationRow.insertSQL, left.arguments)
  }

  /// Counts one more shared bucket of a user, separately from the user's own. Without `max` there is no limit, because
  /// an undeleted bucket returns to all of its members.
  func reserveSharedBucket(of user: String, max: Int?, _ transaction: WriteTransaction) throws {
    let joined = try transaction.executeCounting(
      """
      INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through, shared_bucket_count)
      VALUES ($1, 0, 0, 0, 0, 1)
      ON CONFLICT (user_id) DO UPDATE SET shared_bucket_count = users.shared_bucket_count + 1
      WHERE users.shared_bucket_count < $2
      """, [.text(user), .integer(max.map(Int64.init) ?? .max)])
    guard joined > 0 else {
      throw RPCError.exhausted(
        "a user may be a member of \(limits.sharedBucketsPerUserMax) shared buckets", .sharedBucketsExhausted,
        limit: limits.sharedBucketsPerUserMax)
    }
  }

  func releaseSharedBucket(of user: String, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      "UPDATE users SET shared_bucket_count = shared_bucket_count - 1 WHERE user_id = $1", [.text(user)])
  }
}
