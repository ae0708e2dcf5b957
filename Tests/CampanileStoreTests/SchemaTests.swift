import ServiceTesting
import Testing

@testable import CampanileStore

@Suite(.onSQLite) struct SchemaTests {
  /// The store's own statements. None may scan a whole table.
  @Test(arguments: [
    "SELECT request_hash FROM store_idempotency WHERE principal = $1 AND method = $2 AND request_id = $3 AND expires_at_ms > $4",
    "SELECT principal FROM store_idempotency WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2",
    """
    SELECT o.sequence FROM store_outbox o WHERE o.is_dead = 0 AND o.next_attempt_at_ms <= $1 AND NOT EXISTS (
      SELECT 1 FROM store_outbox p WHERE p.topic = o.topic AND p.message_key = o.message_key AND p.is_dead = 0
        AND p.sequence < o.sequence AND p.next_attempt_at_ms > $1) ORDER BY o.sequence LIMIT $2
    """,
    "SELECT next_attempt_at_ms FROM store_outbox WHERE is_dead = 0 ORDER BY next_attempt_at_ms LIMIT 1",
    "SELECT count(*) FROM store_outbox WHERE is_dead = 1",
    "SELECT sequence FROM store_outbox WHERE is_dead = 1 AND created_at_ms < $1 ORDER BY sequence LIMIT $2",
    "DELETE FROM store_outbox WHERE sequence = $1 AND is_dead = 0",
    "DELETE FROM store_inbox WHERE seen_at_ms < $1",
    "UPDATE store_counters SET value = value + $1 WHERE name = $2 RETURNING value",
  ])
  func ownStatementsUseIndexes(_ sql: String) async throws {
    try await withStore { (store: Store, _: Scratch) async throws in
      #expect(try store.fullScans(sql).isEmpty)
    }
  }

  @Test func fullScansAreDistinguishedFromOtherSteps() {
    let details = [
      "SCAN rows", "SCAN rows USING INDEX i", "SEARCH rows USING INDEX i (a=?)", "SCAN CONSTANT ROW",
      "SCAN (subquery-1)",
    ]
    #expect(QueryPlan.fullScans(in: details, allowingIndexScans: false) == ["SCAN rows", "SCAN rows USING INDEX i"])
    #expect(QueryPlan.fullScans(in: details, allowingIndexScans: true) == ["SCAN rows"])
  }
}
