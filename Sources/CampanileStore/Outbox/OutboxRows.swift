/// The queries of the outbox, shared by the relay and the operator's calls.
extension ReadTransaction {
  private static let columns =
    "o.sequence, o.message_id, o.topic, o.message_key, o.payload, o.created_at_ms, o.attempts, o.last_error, o.trace"

  /// Returns the messages to deliver now, oldest first: due ones without an earlier one of their key that is not due
  /// yet.
  func dueMessages(nowMs: Int64, rowsMax: Int) throws -> [OutboxMessage] {
    try query(
      """
      SELECT \(Self.columns) FROM store_outbox o
      WHERE o.is_dead = 0 AND o.next_attempt_at_ms <= $1 AND NOT EXISTS (
        SELECT 1 FROM store_outbox p
        WHERE p.topic = o.topic AND p.message_key = o.message_key AND p.is_dead = 0 AND p.sequence < o.sequence
          AND p.next_attempt_at_ms > $1)
      ORDER BY o.sequence LIMIT $2
      """, [.integer(nowMs), .int(rowsMax)], rowsMax: rowsMax, Self.message)
  }

  /// Returns the time at which the next pending message is due; nil if there is none.
  func nextAttemptMs() throws -> Int64? {
    try queryOne(
      "SELECT next_attempt_at_ms FROM store_outbox WHERE is_dead = 0 ORDER BY next_attempt_at_ms LIMIT 1"
    ) { try $0.integer(0) }
  }

  func outboxCounts() throws -> OutboxCounts {
    let pending = try queryOne("SELECT value FROM store_counters WHERE name = 'outbox.pending'") { try $0.integer(0) }
    let dead = try queryOne("SELECT count(*) FROM store_outbox WHERE is_dead = 1") { try $0.integer(0) }
    let oldest = try queryOne(
      "SELECT created_at_ms FROM store_outbox WHERE is_dead = 0 ORDER BY sequence LIMIT 1"
    ) { try $0.integer(0) }
    return OutboxCounts(pending: Int(pending ?? 0), deadLetters: Int(dead ?? 0), oldestPendingMs: oldest)
  }

  func deadLetters(afterSequence: Int64, rowsMax: Int) throws -> [OutboxMessage] {
    try query(
      """
      SELECT \(Self.columns) FROM store_outbox o
      WHERE o.is_dead = 1 AND o.sequence > $1 ORDER BY o.sequence LIMIT $2
      """, [.integer(afterSequence), .int(rowsMax)], rowsMax: rowsMax, Self.message)
  }

  private static func message(_ row: borrowing SQLRow) throws -> OutboxMessage {
    OutboxMessage(
      sequence: try row.integer(0), id: try row.text(1), topic: try row.text(2), key: try row.text(3),
      payload: try row.bytes(4), createdAtMs: try row.integer(5), attempts: Int(try row.integer(6)),
      lastError: try row.textIfPresent(7), trace: try row.textIfPresent(8))
  }
}

extension WriteTransaction {
  /// Deletes a delivered message.
  func settleDelivered(_ sequence: Int64) throws {
    try removePending(sequence)
    try execute("DELETE FROM store_outbox WHERE sequence = $1 AND is_dead = 0", [.integer(sequence)])
  }

  /// Subtracts a message from the number of pending ones, if it is still pending.
  private func removePending(_ sequence: Int64) throws {
    try addPending(
      "0 - (SELECT count(*) FROM store_outbox WHERE sequence = $1 AND is_dead = 0)", [.integer(sequence)])
  }

  /// Records a failed delivery and the time of the next attempt; nil makes the message a dead letter.
  func settleFailed(_ sequence: Int64, attempts: Int, nextAttemptAtMs: Int64?, reason: String) throws {
    if nextAttemptAtMs == nil { try removePending(sequence) }
    try execute(
      """
      UPDATE store_outbox SET attempts = $1, next_attempt_at_ms = $2, is_dead = $3, last_error = $4
      WHERE sequence = $5 AND is_dead = 0
      """,
      [
        .int(attempts), .integer(nextAttemptAtMs ?? 0), .bool(nextAttemptAtMs == nil),
        .text(String(reason.prefix(500))), .integer(sequence),
      ])
  }
}

extension Store {
  /// Returns the number of pending messages and of dead letters.
  public func outboxCounts() async throws -> OutboxCounts { try await read { try $0.outboxCounts() } }

  /// Returns a page of dead letters in the order of their creation (`rowsMax` ≤ 1,000).
  public func deadLetters(afterSequence: Int64 = 0, rowsMax: Int = 100) async throws -> [OutboxMessage] {
    try await read { try $0.deadLetters(afterSequence: afterSequence, rowsMax: min(max(0, rowsMax), 1_000)) }
  }

  /// Makes a dead letter pending again, with new attempts. Returns false if there is none with this sequence.
  public func reviveDeadLetter(_ sequence: Int64, nowMs: Int64) async throws -> Bool {
    try await write { transaction in
      let count = try transaction.executeCounting(
        """
        UPDATE store_outbox SET is_dead = 0, attempts = 0, next_attempt_at_ms = $1
        WHERE sequence = $2 AND is_dead = 1
        """, [.integer(nowMs), .integer(sequence)])
      if count > 0 { try transaction.addPending("1") }
      return count > 0
    }
  }

  /// Deletes dead letters created before a time, in bounded batches. Returns their number.
  @discardableResult
  public func purgeDeadLetters(
    createdBeforeMs: Int64, batchRows: Int = 500, batchesMax: Int = 100
  ) async throws -> Int {
    try await purge(batchRows: batchRows, batchesMax: batchesMax) { transaction in
      try transaction.executeCounting(
        """
        DELETE FROM store_outbox WHERE sequence IN (
          SELECT sequence FROM store_outbox WHERE is_dead = 1 AND created_at_ms < $1 ORDER BY sequence LIMIT $2)
        """, [.integer(createdBeforeMs), .int(batchRows)])
    }
  }
}
