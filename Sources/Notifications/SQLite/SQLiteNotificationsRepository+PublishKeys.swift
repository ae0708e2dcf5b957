import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Publish keys. Only the SHA-256 of a secret is stored; secrets have 256 random bits, so a slower hash is not
/// necessary.
extension SQLiteNotificationsRepository {
  static let keysSQL = """
    SELECT id, name, hint, expires_at_ms, created_at_ms FROM publish_keys
    WHERE owner_id = $1 AND bucket_id = $2 AND id > $3 ORDER BY id LIMIT $4
    """
  static let keyCountSQL = "SELECT count(*) FROM publish_keys WHERE owner_id = $1 AND bucket_id = $2"
  static let keySQL = "SELECT owner_id, bucket_id, expires_at_ms FROM publish_keys WHERE secret_hash = $1"
  static let revokeKeySQL = "DELETE FROM publish_keys WHERE id = $1 AND owner_id = $2 AND bucket_id = $3"

  func createPublishKey(
    _ key: PublishKey, secretHash: [UInt8], bucketID: String, by user: String, idempotency: IdempotentRequest?
  ) async throws -> (key: PublishKey, isRepeated: Bool) {
    try await write { transaction in
      if let key = try storedReply(PublishKey.self, idempotency, transaction) { return (key, true) }
      let bucket = try administered(bucketID, by: user, transaction)
      let count = try transaction.queryOne(Self.keyCountSQL, [.text(bucket.ownerId), .text(bucketID)]) {
        try $0.integer(0)
      }
      guard (count ?? 0) < Int64(limits.publishKeysPerBucketMax) else {
        throw RPCError.exhausted(
          "a bucket may have \(limits.publishKeysPerBucketMax) publish keys", .publishKeysExhausted,
          limit: limits.publishKeysPerBucketMax)
      }
      var kept = key
      let (id, nowMs) = ids.next(prefix: SortableID.publishKeyPrefix)
      kept.id = id
      kept.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      try transaction.execute(
        """
        INSERT INTO publish_keys (id, owner_id, bucket_id, name, hint, secret_hash, expires_at_ms, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        [
          .text(id), .text(bucket.ownerId), .text(bucketID), .text(kept.name), .text(kept.hint), .blob(secretHash),
          .integer(kept.expireTime?.millisecondsSince1970), .integer(nowMs),
        ])
      try storeReply(kept, idempotency, transaction)
      return (kept, false)
    }
  }

  func publishKeys(of bucketID: String, _ query: PositionQuery) async throws -> [PublishKey] {
    try await read { transaction in
      let bucket = try administered(bucketID, by: query.user, transaction)
      let arguments: [SQLValue] = [
        .text(bucket.ownerId), .text(bucketID), .text(query.position.first ?? ""), .int(query.pageSize + 1),
      ]
      return try transaction.query(Self.keysSQL, arguments) { row in
        try PublishKey(
          id: row.text(0), name: row.text(1),
          expireTime: row.integerIfPresent(3).map { ProtoTimestamp(millisecondsSince1970: $0) },
          createTime: ProtoTimestamp(millisecondsSince1970: row.integer(4)), hint: row.text(2))
      }
    }
  }

  func revokePublishKey(_ id: String, of bucketID: String, by user: String) async throws {
    try await write { transaction in
      let bucket = try administered(bucketID, by: user, transaction)
      let count = try transaction.executeCounting(
        Self.revokeKeySQL, [.text(id), .text(bucket.ownerId), .text(bucketID)])
      guard count > 0 else { throw RPCError.missing("publish key", id, field: "keyId", .publishKeyNotFound) }
    }
  }

  /// Returns the owner and the bucket of a valid key. Unknown, revoked and expired keys are indistinguishable.
  func publishTarget(secretHash: [UInt8]) async throws -> (owner: String, bucketID: String) {
    let found = try await readSingle { transaction in
      try transaction.queryOne(Self.keySQL, [.blob(secretHash)]) { row in
        (owner: try row.text(0), bucketID: try row.text(1), expiresAtMs: try row.integerIfPresent(2))
      }
    }
    guard let found, (found.expiresAtMs ?? .max) > clockMs() else {
      throw RPCError(
        .unauthenticated, "the publish key is not valid", reason: Reason.publishKeyInvalid.rawValue,
        fieldViolations: [
          .init(field: "secret", description: "is not valid", reason: Reason.publishKeyInvalid.rawValue)
        ])
    }
    return (found.owner, found.bucketID)
  }
}
