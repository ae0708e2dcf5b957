import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  static let bucketSQL = """
    SELECT \(BucketRow.columns) FROM buckets WHERE user_id = $1 AND id = $2 AND deleted_at_ms IS NULL
    """
  static let deletedBucketSQL = """
    SELECT \(BucketRow.columns) FROM buckets WHERE user_id = $1 AND id = $2 AND deleted_at_ms IS NOT NULL
    """
  static let bucketVersionSQL = "SELECT version FROM buckets WHERE user_id = $1 AND id = $2 AND deleted_at_ms IS NULL"
  static let bucketsSQL = bucketList("IS NULL")
  /// The deleted buckets that the user can restore; members' rows are restored together with the owner's.
  static let deletedBucketsSQL = bucketList("IS NOT NULL AND owner_id = ''")
  private static func bucketList(_ condition: String) -> String {
    """
    SELECT \(BucketRow.columns) FROM buckets
    WHERE user_id = $1 AND deleted_at_ms \(condition) AND (name, id) > ($2, $3) ORDER BY name, id LIMIT $4
    """
  }

  func createBucket(_ draft: Bucket, user: String, idempotency: IdempotentRequest?) async throws -> Bucket {
    try await write { transaction in
      if let bucket = try storedReply(Bucket.self, idempotency, transaction) { return bucket }
      let (id, nowMs) = ids.next(prefix: SortableID.bucketPrefix)
      try reserveBucket(of: user, transaction)
      var bucket = Bucket()
      for field in BucketField.allCases { field.copy(from: draft, to: &bucket) }
      bucket.id = id
      bucket.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      bucket.updateTime = bucket.createTime
      bucket.etag = Etag.text(version: 1)
      bucket.role = .owner
      bucket.ownerId = user
      try transaction.execute(BucketRow.insertSQL, BucketRow.inserting(bucket, user: user))
      try transaction.log(.bucketCreated, bucket, atMs: nowMs, user: user, notifier)
      try storeReply(bucket, idempotency, transaction)
      return bucket
    }
  }

  /// Counts one more bucket of a user, who may be new.
  func reserveBucket(of user: String, _ transaction: WriteTransaction) throws {
    let joined = try transaction.execute(
      """
      INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through)
      VALUES ($1, 1, 0, 0, 0)
      ON CONFLICT (user_id) DO UPDATE SET bucket_count = users.bucket_count + 1 WHERE users.bucket_count < $2
      """, [.text(user), .int(limits.bucketsPerUserMax)])
    guard joined > 0 else {
      throw RPCError.exhausted(
        "a user may have \(limits.bucketsPerUserMax) buckets", .bucketsExhausted, limit: limits.bucketsPerUserMax)
    }
  }

  func releaseBucket(of user: String, _ transaction: WriteTransaction) throws {
    try transaction.execute("UPDATE users SET bucket_count = bucket_count - 1 WHERE user_id = $1", [.text(user)])
  }

  func bucket(_ id: String, user: String) throws -> Bucket {
    let bucket = try readSingle { try $0.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket) }
    guard let bucket else { throw RPCError.bucketNotFound(id, field: "bucketId") }
    return bucket
  }

  /// Throws NOT_FOUND unless the user has the bucket.
  func requireBucket(_ id: String, user: String) throws {
    let version = try readSingle {
      try $0.queryOne(Self.bucketVersionSQL, [.text(user), .text(id)]) { try $0.integer(0) }
    }
    guard version != nil else { throw RPCError.bucketNotFound(id, field: "bucketId") }
  }

  func buckets(_ query: BucketQuery) throws -> [Bucket] {
    try readSingle { transaction in
      try transaction.query(
        query.isOfDeleted ? Self.deletedBucketsSQL : Self.bucketsSQL,
        [.text(query.page.user), .text(query.after.name), .text(query.after.id), .int(query.page.pageSize + 1)],
        BucketRow.bucket)
    }
  }

  func updateBucket(_ change: Bucket, fields: [BucketField], user: String) async throws -> Bucket {
    try await write { transaction in
      let found = try findBucket(change.id, user: user, field: "bucket.id", transaction)
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "bucket.etag", current: found.etag)
      }
      var bucket = found
      for field in fields { field.copy(from: change, to: &bucket) }
      guard bucket != found else { return found }
      let shared = fields.filter { field in
        guard field.isShared else { return false }
        var one = found
        field.copy(from: change, to: &one)
        return one != found
      }
      if !shared.isEmpty, !found.role.includes(.admin) { throw RPCError.roleMissing(.admin, field: "bucket.id") }
      let nowMs = clockMs()
      bucket = try rewrite(bucket, nowMs: nowMs, user: user, transaction)
      if !shared.isEmpty {
        for other in try members(of: found, beside: user, transaction) {
          let row = try transaction.queryOne(Self.bucketSQL, [.text(other), .text(found.id)], BucketRow.bucket)
          guard var copy = row else { continue }
          for field in shared { field.copy(from: change, to: &copy) }
          _ = try rewrite(copy, nowMs: nowMs, user: other, transaction)
        }
      }
      // The change may have ended muting or quiet hours.
      try hastenReleases(user: user, nowMs: nowMs, transaction)
      return bucket
    }
  }

  /// Holds new publications until a time. Nil or a past time ends the snooze and releases what it held.
  func snoozeBucket(_ id: String, until end: ProtoTimestamp?, field: String, user: String) async throws -> Bucket {
    try await write { transaction in
      try snoozeBucket(id, until: end, field: field, user: user, transaction)
    }
  }

  func snoozeBucket(
    _ id: String, until end: ProtoTimestamp?, field: String, user: String, _ transaction: WriteTransaction
  ) throws -> Bucket {
    var bucket = try findBucket(id, user: user, field: field, transaction)
    let nowMs = clockMs()
    let end = end?.storedFuture(nowMs: nowMs)
    guard bucket.snoozeEndTime != end else { return bucket }
    bucket.snoozeEndTime = end
    bucket = try rewrite(bucket, nowMs: nowMs, user: user, transaction)
    try hastenReleases(user: user, nowMs: nowMs, transaction)
    return bucket
  }

  func findBucket(
    _ id: String, user: String, field: String, _ transaction: WriteTransaction
  ) throws -> Bucket {
    let found = try transaction.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket)
    guard let found else { throw RPCError.bucketNotFound(id, field: field) }
    return found
  }

  /// Writes a changed bucket with a new etag and logs the change.
  func rewrite(
    _ changed: Bucket, nowMs: Int64, user: String, _ transaction: WriteTransaction
  ) throws -> Bucket {
    var bucket = changed
    bucket.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    bucket.etag = Etag.text(version: (Etag.version(changed.etag) ?? 0) + 1)
    try transaction.execute(BucketRow.updateSQL, BucketRow.updating(bucket, user: user))
    try transaction.log(.bucketUpdated, bucket, atMs: nowMs, user: user, notifier)
    return bucket
  }

  /// All members of a bucket including its owner, without `user`.
  func members(of bucket: Bucket, beside user: String, _ transaction: WriteTransaction) throws -> [String] {
    let found = try transaction.query(
      BucketState.membersSQL, [.text(bucket.id), .text(bucket.ownerId)], { try $0.text(0) })
    return ([bucket.ownerId] + found.sorted()).filter { $0 != user }
  }
}
