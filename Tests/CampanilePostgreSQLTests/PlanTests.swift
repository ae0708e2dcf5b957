import CampanilePostgreSQL
import CampanileStore
import Testing

@Suite("Plans of prepared statements")
struct PlanTests {
  private static let find = "SELECT body FROM items WHERE owner = $1 AND id = $2"
  private static let scansSQL = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname = 'items_pkey'"

  /// Looks rows up by their key, and returns how many lookups have used the primary key's index.
  private func lookups(_ store: Store, _ count: Int) async throws -> Int64 {
    let scans: @Sendable () async throws -> Int64 = {
      try await store.write { try $0.queryOne(Self.scansSQL) { try $0.integer(0) } } ?? 0
    }
    let before = try await scans()
    try await store.write { transaction in
      for index in 0..<count {
        _ = try transaction.queryOne(Self.find, ["owner", .text("\(index)")]) { try $0.text(0) }
      }
      _ = try transaction.query("SELECT pg_stat_force_next_flush()::TEXT") { _ in }
    }
    return try await scans() - before
  }

  @Test("a statement that was planned for a small table finds a row by its key when the table has grown")
  func plansOfSmallTables() async throws {
    let schema = [
      // The planner knows that the table has one page, and reads all of it.
      Migration(
        "0001-items",
        """
        CREATE TABLE items (owner TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner, id));
        INSERT INTO items (owner, id, body) VALUES ('owner', 'first', 'b');
        CREATE INDEX items_body ON items (body)
        """)
    ]
    try await withStore(migrations: schema) { store, _ in
      #expect(try await lookups(store, 10) == 0)
      try await store.write { transaction in
        for index in 0..<3_000 {
          try transaction.execute(
            "INSERT INTO items (owner, id, body) VALUES ('owner', $1, 'b')", [.text("\(index)")])
        }
      }
      #expect(try await lookups(store, 10) == 10)
    }
  }
}
