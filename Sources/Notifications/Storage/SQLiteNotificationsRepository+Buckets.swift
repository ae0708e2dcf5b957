import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

extension SQLiteNotificationsRepository {
  func createBucket(_ draft: Bucket, user: String, request: RequestKey?) async throws -> Bucket {
    let id = ids.next(.bucket)
    return try await changeOnce(user: user, request: request) { [nowMs, limits] tx in
      let now = nowMs()
      let count =
        try tx.queryOne("SELECT COUNT(*) FROM buckets WHERE user_id = $1", [.text(user)]) { try $0.integer(0) } ?? 0
      guard count < limits.bucketsPerUserMax else {
        throw RPCError(
          .resourceExhausted, "the user has \(count) buckets, which is the limit", reason: "TOO_MANY_BUCKETS",
          errorMetadata: ["limit": String(limits.bucketsPerUserMax)])
      }
      var bucket = Bucket()
      UpdateMasks.apply(draft, to: &bucket, Set(UpdateMasks.bucketFields))
      bucket.id = id
      bucket.createTime = ProtoTimestamp(millisecondsSince1970: now)
      bucket.updateTime = bucket.createTime
      bucket.etag = Records.etag(1)
      try tx.execute(
        """
        INSERT INTO buckets (user_id, id, name, description, color, icon_url, is_orphan, created_at_ms, updated_at_ms, version,
          unread_count, notification_count)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, 0, 0)
        """,
        [
          .text(user), .text(id), .text(bucket.name), .text(bucket.description), .text(bucket.color),
          .text(bucket.iconUrl),
          .bool(bucket.isOrphan), .integer(now),
        ])
      try Self.log(.bucketCreated(bucket), bucketID: id, user: user, nowMs: now, tx)
      return bucket
    }
  }

  func updateBucket(_ change: Bucket, fields: Set<String>, user: String) async throws -> Bucket {
    try await self.change(user: user) { [nowMs] tx in
      guard var bucket = try Self.bucket(change.id, user, tx) else {
        throw Self.notFound("bucket", change.id, field: "bucket.id")
      }
      try Self.checkETag(change.etag, bucket.etag)
      let before = bucket
      UpdateMasks.apply(change, to: &bucket, fields)
      if bucket == before { return bucket }
      let now = nowMs()
      let version = (Int64(bucket.etag, radix: 36) ?? 0) + 1
      bucket.updateTime = ProtoTimestamp(millisecondsSince1970: now)
      bucket.etag = Records.etag(version)
      try tx.execute(
        """
        UPDATE buckets SET name = $3, description = $4, color = $5, icon_url = $6, is_orphan = $7, updated_at_ms = $8, version = $9
        WHERE user_id = $1 AND id = $2
        """,
        [
          .text(user), .text(bucket.id), .text(bucket.name), .text(bucket.description), .text(bucket.color),
          .text(bucket.iconUrl), .bool(bucket.isOrphan), .integer(now), .integer(version),
        ])
      try Self.log(.bucketUpdated(bucket), bucketID: bucket.id, user: user, nowMs: now, tx)
      return bucket
    }
  }

  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int {
    try await change(user: user) { [nowMs] tx in
      guard let bucket = try Self.bucket(id, user, tx) else { throw Self.notFound("bucket", id, field: "bucket_id") }
      try Self.checkETag(etag, bucket.etag)
      let count = try tx.execute(
        "DELETE FROM notifications WHERE user_id = $1 AND bucket_id = $2", [.text(user), .text(id)])
      try tx.execute("DELETE FROM buckets WHERE user_id = $1 AND id = $2", [.text(user), .text(id)])
      var deleted = WatchNotificationsResponse.BucketDeleted()
      deleted.bucketId = id
      try Self.log(.bucketDeleted(deleted), bucketID: id, user: user, nowMs: nowMs(), tx)
      return count
    }
  }

  /// Adds to a bucket's counts. Answers false when the user has no such bucket.
  static func count(
    _ bucketID: String, unread: Int, total: Int, user: String, _ tx: WriteTransaction
  ) throws -> Bool {
    try tx.execute(
      """
      UPDATE buckets SET unread_count = unread_count + $3, notification_count = notification_count + $4
      WHERE user_id = $1 AND id = $2
      """, [.text(user), .text(bucketID), .int(unread), .int(total)]) == 1
  }
}
