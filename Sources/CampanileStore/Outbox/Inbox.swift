extension ReadTransaction {
  /// Returns whether a message was recorded as seen.
  public func hasAccepted(source: String, messageID: String) throws -> Bool {
    try queryOne(
      "SELECT 1 FROM store_inbox WHERE source = $1 AND message_id = $2", [.text(source), .text(messageID)]
    ) { _ in true } ?? false
  }
}

extension WriteTransaction {
  /// Records a message as seen. Returns false if it was seen before; the receiver must then change nothing.
  ///
  /// Call it in the transaction of the message's effect, so that both commit or neither. With a sender that repeats,
  /// the effect then happens exactly once.
  public func acceptOnce(source: String, messageID: String, nowMs: Int64) throws -> Bool {
    let count = try executeCounting(
      """
      INSERT INTO store_inbox (source, message_id, seen_at_ms) VALUES ($1, $2, $3)
      ON CONFLICT (source, message_id) DO NOTHING
      """, [.text(source), .text(messageID), .integer(nowMs)])
    return count > 0
  }
}

extension Store {
  /// Deletes messages seen before a time, in bounded batches. Retain them for longer than any sender retries.
  @discardableResult
  public func purgeInbox(seenBeforeMs: Int64, batchRows: Int = 500, batchesMax: Int = 100) async throws -> Int {
    try await purge(batchRows: batchRows, batchesMax: batchesMax) { transaction in
      try transaction.executeCounting(
        """
        DELETE FROM store_inbox WHERE (source, message_id) IN (
          SELECT source, message_id FROM store_inbox WHERE seen_at_ms < $1 ORDER BY seen_at_ms LIMIT $2)
        """, [.integer(seenBeforeMs), .int(batchRows)])
    }
  }
}
