import CampanileRPC
import CampanileStore

/// The stored responses in `gateway.sqlite`, in the table that every store has for idempotent requests.
///
/// Each write returns its change of the usage, which becomes effective once the transaction is committed.
enum ReplyTable {
  /// Maximum number of rows changed by one transaction, so that other writes do not wait long.
  static let batchRows = 500

  /// A stored response without its bytes.
  private struct Row {
    var key: IdempotencyKey
    var sizeBytes: Int
  }

  /// Counts all rows. Reads the whole table; call it once at the start.
  static func usage(in transaction: ReadTransaction) throws -> ReplyUsage {
    var usage = ReplyUsage()
    try transaction.forEach(
      "SELECT principal, count(*), sum(length(reply)) FROM store_idempotency GROUP BY principal"
    ) { row in
      usage.add(.init(count: Int(try row.integer(1)), sizeBytes: Int(try row.integer(2))), of: try row.text(0))
      return true
    }
    return usage
  }

  /// Maximum number of rows removed for a new one. More than one may be due, because writes of one commit do not see
  /// each other's usage.
  static let surplusRows = 64

  /// Stores a response, and removes the principal's oldest responses while they exceed its limits.
  ///
  /// - Parameter usage: The principal's usage before this write.
  static func store(
    _ reply: [UInt8], _ key: IdempotencyKey, requestHash: [UInt8], expiresAtMs: Int64, usage: ReplyUsage.Amount,
    _ policy: ReplyLimits, in transaction: WriteTransaction
  ) throws -> ReplyUsage.Amount {
    let replaced = try transaction.queryOne(
      "SELECT length(reply) FROM store_idempotency WHERE principal = $1 AND method = $2 AND request_id = $3",
      [.text(key.principal), .text(key.method), .text(key.requestID)]
    ) { Int(try $0.integer(0)) }
    try transaction.storeReply(reply, key, requestHash: requestHash, expiresAtMs: expiresAtMs)
    let change = ReplyUsage.Amount(count: replaced == nil ? 1 : 0, sizeBytes: reply.count - (replaced ?? 0))
    return change
      + (try trim(key.principal, usage: usage + change, policy, except: key, rowsMax: surplusRows, in: transaction)
        .reduce(.init(), +))
  }

  /// Removes a principal's oldest responses while they exceed its limits, at most `rowsMax`.
  ///
  /// - Parameter except: A response that is not removed.
  static func trim(
    _ principal: String, usage: ReplyUsage.Amount, _ policy: ReplyLimits, except: IdempotencyKey? = nil,
    rowsMax: Int = batchRows, in transaction: WriteTransaction
  ) throws -> [ReplyUsage.Amount] {
    var (usage, changes) = (usage, [ReplyUsage.Amount]())
    while changes.count < rowsMax,
      !usage.fits(count: policy.principalRepliesMax, sizeBytes: policy.principalBytesMax)
    {
      let surplus = max(usage.count - policy.principalRepliesMax, 1)
      let oldest = try rows(
        "principal = $1 AND NOT (method = $2 AND request_id = $3) ORDER BY expires_at_ms LIMIT $4",
        [
          .text(principal), .text(except?.method ?? ""), .text(except?.requestID ?? ""),
          .int(min(surplus, rowsMax - changes.count)),
        ], in: transaction)
      if oldest.isEmpty { break }
      for row in oldest {
        let change = try remove(row, in: transaction)
        usage = usage + change
        changes.append(change)
      }
    }
    return changes
  }

  /// Removes up to `batchRows` expired responses.
  static func purge(nowMs: Int64, in transaction: WriteTransaction) throws -> [(String, ReplyUsage.Amount)] {
    try rows(
      "expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2", [.integer(nowMs), .int(batchRows)], in: transaction
    ).map { ($0.key.principal, try remove($0, in: transaction)) }
  }

  /// Replaces up to `batchRows` responses of a method with `reply`. Skips responses of at most its length.
  static func redact(
    method: String, as reply: [UInt8], in transaction: WriteTransaction
  ) throws -> [(String, ReplyUsage.Amount)] {
    try rows(
      "method = $1 AND length(reply) > $2 LIMIT $3", [.text(method), .int(reply.count), .int(batchRows)],
      in: transaction
    ).map { row in
      try transaction.execute(
        "UPDATE store_idempotency SET reply = $4 WHERE principal = $1 AND method = $2 AND request_id = $3",
        [.text(row.key.principal), .text(row.key.method), .text(row.key.requestID), .blob(reply)])
      return (row.key.principal, .init(count: 0, sizeBytes: reply.count - row.sizeBytes))
    }
  }

  private static func rows(
    _ condition: String, _ values: [SQLValue], in transaction: ReadTransaction
  ) throws -> [Row] {
    try transaction.query(
      "SELECT principal, method, request_id, length(reply) FROM store_idempotency WHERE \(condition)", values
    ) { row in
      Row(
        key: IdempotencyKey(principal: try row.text(0), method: try row.text(1), requestID: try row.text(2)),
        sizeBytes: Int(try row.integer(3)))
    }
  }

  private static func remove(_ row: Row, in transaction: WriteTransaction) throws -> ReplyUsage.Amount {
    try transaction.execute(
      "DELETE FROM store_idempotency WHERE principal = $1 AND method = $2 AND request_id = $3",
      [.text(row.key.principal), .text(row.key.method), .text(row.key.requestID)])
    return -ReplyUsage.Amount(count: 1, sizeBytes: row.sizeBytes)
  }
}
