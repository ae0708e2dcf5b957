import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

extension SQLiteNotificationsRepository {
  static let bucketSQL = "SELECT \(BucketRow.columns) FROM buckets WHERE user_id = $1 AND id = $2"
  static let bucketVersionSQL = "SELECT version FROM buckets WHERE user_id = $1 AND id = $2"
  static let bucketsSQL = """
    SELECT \(BucketRow.columns) FROM buckets WHERE user_id = $1 AND (name, id) > ($2, $3) ORDER BY name, id LIMIT $4
    """

  func createBucket(_ draft: Bucket, user: String, repeatable: RepeatableRequest?) async throws -> Bucket {
    try await write { transaction in
      if let bucket = try replayed(Bucket.self, repeatable, transaction) { return bucket }
      let (id, nowMs) = ids.next(prefix: SortableID.bucketPrefix)
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
      var bucket = Bucket()
      for field in BucketField.allCases { field.copy(from: draft, to: &bucket) }
      bucket.id = id
      bucket.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      bucket.updateTime = bucket.createTime
      bucket.etag = Etag.text(version: 1)
      try transaction.execute(
        """
        INSERT INTO buckets
          (user_id, id, name, description, color, icon_url, is_orphan, created_at_ms, updated_at_ms, version,
           notification_count, unread_count)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, 0, 0)
        """,
        [
          .text(user), .text(id), .text(bucket.name), .text(bucket.description), .text(bucket.color),
          .text(bucket.iconUrl), .bool(bucket.isOrphan), .integer(nowMs),
        ])
      try transaction.log(.bucketCreated, bucket, atMs: nowMs, user: user)
      try keep(bucket, repeatable, transaction)
      return bucket
    }
  }

  func bucket(_ id: String, user: String) throws -> Bucket {
    let bucket = try readSingle { try $0.queryOne(Self.bucketSQL, [.text(user), .text(id)], BucketRow.bucket) }
    guard let bucket else { throw RPCError.bucketNotFound(id, field: "bucketId") }
    return bucket
  }

  func buckets(_ query: BucketQuery) throws -> [Bucket] {
    try readSingle { transaction in
      try transaction.query(
        Self.bucketsSQL,
        [.text(query.user), .text(query.after.name), .text(query.after.id), .int(query.pageSize + 1)],
        BucketRow.bucket)
    }
  }

  func updateBucket(_ change: Bucket, fields: [BucketField], user: String) async throws -> Bucket {
    try await write { transaction in
      let found = try transaction.queryOne(Self.bucketSQL, [.text(user), .text(change.id)], BucketRow.bucket)
      guard let found else { throw RPCError.bucketNotFound(change.id, field: "bucket.id") }
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "bucket.etag", current: found.etag)
      }
      var bucket = found
      for field in fields { field.copy(from: change, to: &bucket) }
      guard bucket != found else { return found }
      let nowMs = clockMs()
      let version = try transaction.queryOne(
        """
        UPDATE buckets SET name = $1, description = $2, color = $3, icon_url = $4, is_orphan = $5, updated_at_ms = $6,
          version = version + 1
        WHERE user_id = $7 AND id = $8 RETURNING version
        """,
        [
          .text(bucket.name), .text(bucket.description), .text(bucket.color), .text(bucket.iconUrl),
          .bool(bucket.isOrphan), .integer(nowMs), .text(user), .text(bucket.id),
        ]
      ) { try $0.integer(0) }
      guard let version else { throw RPCError.bucketNotFound(change.id, field: "bucket.id") }
      bucket.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      bucket.etag = Etag.text(version: version)
      try transaction.log(.bucketUpdated, bucket, atMs: nowMs, user: user)
      return bucket
    }
  }

  /// A bucket that holds more than `bucketDeletionRows` notifications is emptied in several commits, each of which
  /// leaves counts and log right; the last one takes the bucket. Cut short, it leaves a bucket with fewer notifications.
  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int {
    var deleted = 0
    // Twice the rows there may be: writers that fill the bucket as fast as it is emptied do not keep this going.
    let stepsMax = 2 + 2 * (limits.notificationsPerUserMax / max(1, limits.bucketDeletionRows))
    for step in 0..<stepsMax {
      let (count, isDone) = try await write { transaction in
        try deleteBucketStep(id, etag: step == 0 ? etag : "", user: user, transaction)
      }
      deleted += count
      if isDone { return deleted }
    }
    throw RPCError(
      .aborted, "the bucket is filled faster than it is emptied", reason: Reason.bucketBusy.rawValue,
      retryAfterMs: 1_000)
  }

  static let bucketRowsSQL = """
    SELECT id, read_at_ms FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND id < 'n_~' ORDER BY id LIMIT $3
    """
  static let deleteBucketRowsSQL = "DELETE FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND id <= $3"

  private func deleteBucketStep(
    _ id: String, etag: String, user: String, _ transaction: WriteTransaction
  ) throws -> (count: Int, isDone: Bool) {
    let version = try transaction.queryOne(Self.bucketVersionSQL, [.text(user), .text(id)]) { try $0.integer(0) }
    guard let version else { throw RPCError.bucketNotFound(id, field: "bucketId") }
    guard Etag.allows(etag, version: version) else {
      throw RPCError.etagMismatch(field: "etag", current: Etag.text(version: version))
    }
    let rowsMax = max(1, limits.bucketDeletionRows)
    let rows = try transaction.query(
      Self.bucketRowsSQL, [.text(user), .text(id), .int(rowsMax + 1)], rowsMax: rowsMax + 1
    ) { row in
      (id: try row.text(0), isRead: !row.isNull(1))
    }
    let isLast = rows.count <= rowsMax
    let doomed = rows.prefix(rowsMax)
    let nowMs = clockMs()
    if let last = doomed.last {
      try transaction.execute(Self.deleteBucketRowsSQL, [.text(user), .text(id), .text(last.id)])
      let unread = doomed.count { !$0.isRead }
      let change = CountChange(notifications: -Int64(doomed.count), unread: -Int64(unread))
      try transaction.addCounts([id: change], user: user)
    }
    if isLast {
      try transaction.execute("DELETE FROM buckets WHERE user_id = $1 AND id = $2", [.text(user), .text(id)])
      try transaction.execute("UPDATE users SET bucket_count = bucket_count - 1 WHERE user_id = $1", [.text(user)])
      try transaction.logDeletion(bucketID: id, notificationID: "", atMs: nowMs, user: user)
    } else {
      for row in doomed { try transaction.logDeletion(bucketID: id, notificationID: row.id, atMs: nowMs, user: user) }
    }
    return (doomed.count, isLast)
  }
}
