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
      bucket.settings = BucketSettings(bucketId: id, etag: Etag.text(version: 1))
      bucket.role = .owner
      bucket.ownerId = user
      bucket.shareCount = 0
      bucket.etag = BucketEtag.text(version: 1, bucket)
      try transaction.execute(BucketRow.insertSQL, BucketRow.inserting(bucket, user: user))
      try transaction.log(.bucketCreated, bucketID: id, atMs: nowMs, user: user, notifier)
      try storeReply(bucket, idempotency, transaction)
      return bucket
    }
  }

  /// Counts one more bucket of a user, who may be new.
  func reserveBucket(of user: String, _ transaction: WriteTransaction) throws {
    let joined = try transaction.executeCounting(
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

  func bucket(_ id: String, user: String) async throws -> Bucket {
    let bucket = try await readSingle { try $0.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket) }
    guard let bucket else { throw RPCError.bucketNotFound(id, field: "bucketId") }
    return bucket
  }

  /// Throws NOT_FOUND unless the user has the bucket.
  func requireBucket(_ id: String, user: String) async throws {
    let version = try await readSingle {
      try $0.queryOne(Self.bucketVersionSQL, [.text(user), .text(id)]) { try $0.integer(0) }
    }
    guard version != nil else { throw RPCError.bucketNotFound(id, field: "bucketId") }
  }

  func buckets(_ query: BucketQuery) async throws -> (buckets: PageRows<Bucket>, token: ResumeToken) {
    try await read { transaction in
      let token = try present(transaction)
      var rows = PageRows<Bucket>(countMax: query.page.pageSize)
      try transaction.forEach(
        query.isOfDeleted ? Self.deletedBucketsSQL : Self.bucketsSQL,
        [.text(query.page.user), .text(query.after.name), .text(query.after.id), .int(query.page.pageSize + 1)]
      ) { row in
        let bucket = try BucketRow.bucket(row)
        return rows.add(bucket, sizeBytes: bucket.sizeBytes)
      }
      return (rows, token)
    }
  }

  func updateBucket(_ change: Bucket, fields: [BucketField], user: String) async throws -> Bucket {
    try await write { transaction in
      let found = try findBucket(change.id, user: user, field: "bucket.id", transaction)
      guard found.role.includes(.admin) else { throw RPCError.roleMissing(.admin, field: "bucket.id") }
      guard BucketEtag.allows(change.etag, found) else {
        throw RPCError.etagMismatch(field: "bucket.etag", current: found.etag)
      }
      var bucket = found
      for field in fields { field.copy(from: change, to: &bucket) }
      guard bucket != found else { return found }
      let nowMs = clockMs()
      for other in try members(of: found, beside: user, transaction) {
        let row = try transaction.queryOne(Self.bucketSQL, [.text(other), .text(found.id)], BucketRow.bucket)
        guard var copy = row else { continue }
        for field in fields { field.copy(from: change, to: &copy) }
        _ = try rewrite(copy, nowMs: nowMs, user: other, transaction)
      }
      return try rewrite(bucket, nowMs: nowMs, user: user, transaction)
    }
  }

  func updateBucketSettings(
    _ change: BucketSettings, fields: [BucketSettingsField], user: String
  ) async throws -> BucketSettings {
    try await write { transaction in
      try changeSettings(
        of: change.bucketId, field: "settings.bucketId", etag: change.etag, user: user, transaction
      ) { settings in
        for field in fields { field.copy(from: change, to: &settings) }
      }
    }
  }

  /// Changes the user's settings for a bucket, and logs the change for the user alone. Releases held notifications for
  /// a new decision, because the change may have ended a mute, a snooze or quiet hours.
  ///
  /// - Parameters:
  ///   - field: The request field with the id of the bucket, for NOT_FOUND.
  ///   - etag: The expected etag of the settings; empty for any. ABORTED otherwise.
  @discardableResult
  func changeSettings(
    of id: String, field: String, etag: String = "", user: String, _ transaction: WriteTransaction,
    _ change: (inout BucketSettings) -> Void
  ) throws -> BucketSettings {
    var bucket = try findBucket(id, user: user, field: field, transaction)
    let found = bucket.settings ?? BucketSettings(bucketId: id)
    guard etag.isEmpty || etag == found.etag else {
      throw RPCError.etagMismatch(field: "settings.etag", current: found.etag)
    }
    let nowMs = clockMs()
    var settings = found
    change(&settings)
    // A past end would be set again by every repetition.
    settings.snoozeEndTime = settings.snoozeEndTime?.storedFuture(nowMs: nowMs)
    guard settings != found else { return found }
    settings.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    settings.etag = Etag.text(version: (Etag.version(found.etag) ?? 0) + 1)
    bucket.etag = BucketEtag.text(version: (BucketEtag.version(bucket.etag) ?? 0) + 1, bucket)
    try transaction.execute(
      BucketRow.updateSettingsSQL, BucketRow.updating(settings, of: bucket, user: user))
    try transaction.log(.bucketUpdated, bucketID: id, atMs: nowMs, user: user, notifier)
    try hastenReleases(user: user, nowMs: nowMs, transaction)
    return settings
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
    bucket.etag = BucketEtag.text(version: (BucketEtag.version(changed.etag) ?? 0) + 1, changed)
    try transaction.execute(BucketRow.updateSQL, BucketRow.updating(bucket, user: user))
    try transaction.log(.bucketUpdated, bucketID: bucket.id, atMs: nowMs, user: user, notifier)
    return bucket
  }

  /// All members of a bucket including its owner, without `user`.
  func members(of bucket: Bucket, beside user: String, _ transaction: WriteTransaction) throws -> [String] {
    let found = try transaction.query(
      BucketState.membersSQL, [.text(bucket.id), .text(bucket.ownerId)], { try $0.text(0) })
    return ([bucket.ownerId] + found.sorted()).filter { $0 != user }
  }
}
