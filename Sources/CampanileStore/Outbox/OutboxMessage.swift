public import CampanileBase

/// A message for another service, stored in the sender's database until it is delivered.
public struct OutboxMessage: Sendable, Hashable {
  /// Increases with every message of this database; the order within a key follows it.
  public var sequence: Int64
  /// Globally unique. Receivers detect repeats by it (`WriteTransaction.acceptOnce`).
  public var id: String
  /// The subject of the message, which tells the receiver how to handle it.
  public var topic: String
  /// Messages with the same topic and key are delivered in order, one at a time.
  public var key: String
  public var payload: [UInt8]
  public var createdAtMs: Int64
  /// Number of failed deliveries so far.
  public var attempts: Int
  /// The reason of the last failure.
  public var lastError: String?
  /// The trace of the call that sent the message, as `TraceContext.text`; `nil` if it was not recorded.
  public var trace: String?
}

/// The number of messages in an outbox.
public struct OutboxCounts: Sendable, Hashable {
  /// Messages not yet delivered, without dead letters.
  public var pending: Int
  /// Messages that were given up and are retained for an operator.
  public var deadLetters: Int
  /// The creation time of the oldest pending message.
  public var oldestPendingMs: Int64?
}

/// Limits of an outbox.
public enum Outbox {
  /// Maximum number of pending messages. Beyond it, sending and the change that requested it fail with `overloaded`.
  public static let pendingMax: Int64 = 1_000_000
}

extension WriteTransaction {
  /// Adds a message to the outbox; it is sent if and only if this transaction commits.
  ///
  /// - Parameter trace: The trace that the delivery continues; by default that of the current call.
  /// - Throws: `overloaded` if `pendingMax` messages are pending.
  public func enqueue(
    topic: String, key: String, payload: [UInt8], nowMs: Int64, pendingMax: Int64 = Outbox.pendingMax,
    trace: TraceContext? = CallScope.trace
  ) throws {
    try execute(
      "UPDATE store_counters SET value = value + 1 WHERE name = 'outbox.pending' AND value < $1",
      [.integer(pendingMax)],
      orThrow: StoreError(.overloaded, "\(pendingMax) messages are pending in the outbox"))
    try execute(
      "UPDATE store_counters SET value = value + 1 WHERE name = 'outbox.sequence'",
      orThrow: StoreError(.corrupt, "the counter outbox.sequence is missing"))
    try insertMessage(topic: topic, key: key, payload: payload, nowMs: nowMs, trace: trace)
  }

  /// Inserts a message with the sequence that the counter has.
  private func insertMessage(
    topic: String, key: String, payload: [UInt8], nowMs: Int64, trace: TraceContext?
  ) throws {
    // Random instead of the sequence, because a database restored from a backup reuses sequences.
    let id = HexadecimalDigits(.random(in: .min ... .max)).text + HexadecimalDigits(.random(in: .min ... .max)).text
    try execute(
      """
      INSERT INTO store_outbox
        (sequence, message_id, topic, message_key, payload, created_at_ms, next_attempt_at_ms, trace)
      VALUES ((SELECT value FROM store_counters WHERE name = 'outbox.sequence'), $1, $2, $3, $4, $5, $5, $6)
      """,
      [
        .text(id), .text(topic), .text(key), .blob(payload), .integer(nowMs), .text(trace?.text),
      ])
  }

  /// Adds a message to the outbox and removes the pending ones of its topic and key, for states of which only the
  /// latest matters. A delivery in progress ends before this one begins, and is not retried. There is no `pendingMax`.
  public func enqueueLatest(
    topic: String, key: String, payload: [UInt8], nowMs: Int64, trace: TraceContext? = CallScope.trace
  ) throws {
    let arguments: [SQLValue] = [.text(topic), .text(key)]
    try execute(
      Self.countLatestSQL, arguments, orThrow: StoreError(.corrupt, "the counters of the outbox are missing"))
    try execute(Self.deleteLatestSQL, arguments)
    try insertMessage(topic: topic, key: key, payload: payload, nowMs: nowMs, trace: trace)
  }

  private static let latestCondition = "topic = $1 AND message_key = $2 AND is_dead = 0"
  // A range of names: for a list of them, SQLite creates a temporary table.
  private static let countLatestSQL = """
    UPDATE store_counters SET value = value + 1 - CASE name WHEN 'outbox.sequence' THEN 0 ELSE
      (SELECT count(*) FROM store_outbox WHERE \(latestCondition)) END
    WHERE name BETWEEN 'outbox.pending' AND 'outbox.sequence'
    """
  private static let deleteLatestSQL = "DELETE FROM store_outbox WHERE \(latestCondition)"

  /// Adds an expression to the number of pending messages.
  func addPending(_ amount: String, _ arguments: [SQLValue] = []) throws {
    try execute(
      "UPDATE store_counters SET value = value + \(amount) WHERE name = 'outbox.pending'", arguments,
      orThrow: StoreError(.corrupt, "the counter outbox.pending is missing"))
  }
}
