/// Whose request it is and how its sender named it (AIP-155).
public struct IdempotencyKey: Sendable, Hashable {
  public var principal: String
  /// The method's full path, so that one id used for two methods is two requests.
  public var method: String
  public var requestID: String

  public init(principal: String, method: String, requestID: String) {
    self.principal = principal
    self.method = method
    self.requestID = requestID
  }
}

/// The reply to a request with an id.
public struct IdempotentReply: Sendable, Hashable {
  public var bytes: [UInt8]
  /// Whether the reply is that of an earlier run, and nothing was changed now.
  public var isReplayed: Bool
}

/// How long replies are kept.
public enum Idempotency {
  /// 24 hours.
  public static let retentionMs: Int64 = 24 * 60 * 60 * 1_000
}

extension WriteTransaction {
  /// Runs `change` unless the request was answered before, and keeps its reply in the same transaction.
  ///
  /// `requestHash` is a digest of the decoded request without its id: two requests are the same when it is equal.
  /// Throws `requestIDReused` when the id was used for a different request within the retention, and whatever
  /// `change` throws; then nothing is kept, so that the sender may try again.
  public func idempotent(
    _ key: IdempotencyKey, requestHash: [UInt8], nowMs: Int64, retentionMs: Int64 = Idempotency.retentionMs,
    _ change: (WriteTransaction) throws -> [UInt8]
  ) throws -> IdempotentReply {
    if let reply = try storedReply(key, requestHash: requestHash, nowMs: nowMs) {
      return IdempotentReply(bytes: reply, isReplayed: true)
    }
    let reply = try change(self)
    try storeReply(reply, key, requestHash: requestHash, expiresAtMs: nowMs.addingClamped(retentionMs))
    return IdempotentReply(bytes: reply, isReplayed: false)
  }

  /// The reply kept for a request, nil for a new request or an expired reply.
  ///
  /// Throws `requestIDReused` when the id was used for a different request.
  public func storedReply(_ key: IdempotencyKey, requestHash: [UInt8], nowMs: Int64) throws -> [UInt8]? {
    let found = try queryOne(
      """
      SELECT request_hash, reply FROM store_idempotency
      WHERE principal = $1 AND method = $2 AND request_id = $3 AND expires_at_ms > $4
      """, [.text(key.principal), .text(key.method), .text(key.requestID), .integer(nowMs)]
    ) { row in (hash: try row.bytes(0), reply: try row.bytes(1)) }
    guard let found else { return nil }
    guard found.hash == requestHash else {
      throw StoreError(.requestIDReused, "the request id was used before for a different request")
    }
    return found.reply
  }

  /// Keeps a reply until `expiresAtMs`; replaces an expired one.
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
  /// Deletes expired replies, `batchRows` a transaction so that no write waits long behind it, and at most
  /// `batchesMax` of them. Returns how many were deleted; call it again while it returns the full number.
  @discardableResult
  public func purgeIdempotency(nowMs: Int64, batchRows: Int = 500, batchesMax: Int = 100) async throws -> Int {
    try await purge(batchRows: batchRows, batchesMax: batchesMax) { transaction in
      try transaction.execute(
        """
        DELETE FROM store_idempotency WHERE (principal, method, request_id) IN (
          SELECT principal, method, request_id FROM store_idempotency
          WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2)
        """, [.integer(nowMs), .int(batchRows)])
    }
  }

  /// Repeats a deleting transaction until it deletes less than a batch.
  func purge(
    batchRows: Int, batchesMax: Int, _ delete: @escaping @Sendable (WriteTransaction) throws -> Int
  ) async throws -> Int {
    var total = 0
    for _ in 0..<max(0, batchesMax) {
      let count = try await write { try delete($0) }
      total += count
      if count < batchRows { break }
    }
    return total
  }
}

extension Int64 {
  /// The sum, held at the ends of the range: times come from outside.
  func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other > 0 ? .max : .min
  }
}
