/// The identity of a request that its sender may repeat (AIP-155).
public struct IdempotencyKey: Sendable, Hashable {
  public var principal: String
  /// The method's full path. The same id on two methods identifies two requests.
  public var method: String
  public var requestID: String

  public init(principal: String, method: String, requestID: String) {
    self.principal = principal
    self.method = method
    self.requestID = requestID
  }

  /// The query of `storedReply`.
  public var query: SQLQuery {
    SQLQuery(
      """
      SELECT request_hash, reply, expires_at_ms FROM store_idempotency
      WHERE principal = $1 AND method = $2 AND request_id = $3
      """, [.text(principal), .text(method), .text(requestID)])
  }
}

/// The retention of stored replies.
public enum ReplyRetention {
  /// 24 hours.
  public static let retentionMs: Int64 = 24 * 60 * 60 * 1_000
}

extension WriteTransaction {
  /// Returns the stored reply of a request; nil if the request is new or its reply has expired.
  ///
  /// - Throws: `requestIDReused` if the id was used for a different request.
  public func storedReply(_ key: IdempotencyKey, requestHash: [UInt8], nowMs: Int64) throws -> [UInt8]? {
    let found = try queryOne(key.query) { row in
      (hash: try row.bytes(0), reply: try row.bytes(1), expiresAtMs: try row.integer(2))
    }
    guard let found, found.expiresAtMs > nowMs else { return nil }
    guard found.hash == requestHash else {
      throw StoreError(.requestIDReused, "the request id was used before for a different request")
    }
    return found.reply
  }

  /// Stores a reply until `expiresAtMs`. Replaces an expired one.
  public func storeReply(
    _ reply: [UInt8], _ key: IdempotencyKey, requestHash: [UInt8], expiresAtMs: Int64
  ) throws {
    try execute(
      """
      INSERT INTO store_idempotency (principal, method, request_id, request_hash, reply, expires_at_ms)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (principal, method, request_id) DO UPDATE
      SET request_hash = excluded.request_hash, reply = excluded.reply, expires_at_ms = excluded.expires_at_ms
      """,
      [
        .text(key.principal), .text(key.method), .text(key.requestID), .blob(requestHash), .blob(reply),
        .integer(expiresAtMs),
      ])
  }
}

extension Store {
  /// Deletes expired replies in at most `batchesMax` transactions of `batchRows` rows each, so that other writes do not
  /// wait long.
  ///
  /// - Returns: The number of deleted replies. Call again while it is `batchRows` times `batchesMax`.
  @discardableResult
  public func purgeIdempotency(nowMs: Int64, batchRows: Int = 500, batchesMax: Int = 100) async throws -> Int {
    try await purge(batchRows: batchRows, batchesMax: batchesMax) { transaction in
      try transaction.executeCounting(
        """
        DELETE FROM store_idempotency WHERE (principal, method, request_id) IN (
          SELECT principal, method, request_id FROM store_idempotency
          WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2)
        """, [.integer(nowMs), .int(batchRows)])
    }
  }
}
