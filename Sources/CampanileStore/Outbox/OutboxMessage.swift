public import CampanileRPC

/// A message for another service, kept in the sender's database until it is delivered.
public struct OutboxMessage: Sendable, Hashable {
  /// Rises with every message of this database; order within a key follows it.
  public var sequence: Int64
  /// Unique for all time: what receivers recognise a repeat by (`WriteTransaction.acceptOnce`).
  public var id: String
  /// What it is about; tells the receiver.
  public var topic: String
  /// Messages with the same topic and key are delivered in order, one at a time.
  public var key: String
  public var payload: [UInt8]
  public var createdAtMs: Int64
  /// Deliveries that failed so far.
  public var attempts: Int
  /// Why the last one failed.
  public var lastError: String?
  /// The trace of the call that sent it, as `TraceContext.text`; `nil` where that was not recorded.
  public var trace: String?
}

/// How many messages an outbox holds.
public struct OutboxCounts: Sendable, Hashable {
  /// Not yet delivered, dead letters excluded.
  public var pending: Int
  /// Given up, kept for an operator.
  public var deadLetters: Int
  /// When the oldest pending message was created.
  public var oldestPendingMs: Int64?
}

/// Bounds of an outbox.
public enum Outbox {
  /// Pending messages; one more is refused with `overloaded`, and with it the change that wanted to send it.
  public static let pendingMax: Int64 = 1_000_000
}

extension WriteTransaction {
  /// Puts a message into the outbox; it is sent if and only if this transaction commits.
  ///
  /// `trace` is what the delivery continues; by default that of the call whose body this is.
  ///
  /// Throws `overloaded` when `pendingMax` messages wait.
  @discardableResult
  public func enqueue(
    topic: String, key: String, payload: [UInt8], nowMs: Int64, pendingMax: Int64 = Outbox.pendingMax,
    trace: TraceContext? = CallScope.trace
  ) throws -> Int64 {
    let pending = try bump("outbox.pending", by: 1)
    guard pending <= pendingMax else {
      throw StoreError(.overloaded, "\(pendingMax) messages wait in the outbox")
    }
    let sequence = try bump("outbox.sequence", by: 1)
    // Random, not the sequence: a database restored from a backup hands out the same sequences again.
    let id = HexadecimalDigits(.random(in: .min ... .max)).text + HexadecimalDigits(.random(in: .min ... .max)).text
    try execute(
      """
      INSERT INTO store_outbox
        (sequence, message_id, topic, message_key, payload, created_at_ms, next_attempt_at_ms, trace)
      VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
      """,
      [
        .integer(sequence), .text(id), .text(topic), .text(key), .blob(payload), .integer(nowMs), .text(trace?.text),
      ])
    return sequence
  }

  /// Puts a message into the outbox in place of those of its topic and key that wait: for states of which only the latest
  /// matters. One whose delivery is under way is delivered, and then this one.
  ///
  /// Throws as `enqueue`.
  @discardableResult
  public func enqueueLatest(
    topic: String, key: String, payload: [UInt8], nowMs: Int64, pendingMax: Int64 = Outbox.pendingMax,
    trace: TraceContext? = CallScope.trace
  ) throws -> Int64 {
    let replaced = try execute(
      "DELETE FROM store_outbox WHERE topic = $1 AND message_key = $2 AND is_dead = 0", [.text(topic), .text(key)])
    if replaced > 0 { _ = try bump("outbox.pending", by: -Int64(replaced)) }
    return try enqueue(topic: topic, key: key, payload: payload, nowMs: nowMs, pendingMax: pendingMax, trace: trace)
  }

  /// Adds to a counter of the store and returns its new value.
  func bump(_ name: String, by amount: Int64) throws -> Int64 {
    let value = try queryOne(
      "UPDATE store_counters SET value = value + $1 WHERE name = $2 RETURNING value", [.integer(amount), .text(name)]
    ) { try $0.integer(0) }
    guard let value else { throw StoreError(.corrupt, "the counter \(name) is missing") }
    return value
  }
}
