import CampanileStore
import Dispatch
import Foundation
import ServiceTesting
import Testing

@Suite struct ReaderTests {
  @Test func readsDoNotWaitForWrites() async throws {
    try await withStore { store, _ in
      try await store.insert("before")
      let gate = Gate()
      async let writing: Void = store.write { transaction in
        try transaction.execute("INSERT INTO rows (id, body) VALUES ('during', 'x')")
        gate.hold()
      }
      await gate.waitUntilEntered()
      #expect(try await store.ids() == ["before"])
      gate.open()
      try await writing
      #expect(try await store.ids() == ["before", "during"])
    }
  }

  @Test func readSeesOneSnapshot() async throws {
    try await withStore { store, _ in
      let counts = try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { for index in 0..<300 { try await store.insert("row-\(index)") } }
        var differing = 0
        for _ in 0..<300 {
          let (first, second) = try store.readBlocking { transaction in
            (
              try transaction.queryOne("SELECT count(*) FROM rows") { try $0.integer(0) },
              try transaction.queryOne("SELECT count(*) FROM rows WHERE id >= ''") { try $0.integer(0) }
            )
          }
          if first != second { differing += 1 }
        }
        try await group.waitForAll()
        return differing
      }
      #expect(counts == 0)
    }
  }

  @Test func poolSizeAndWaitAreBounded() async throws {
    try await withStore(configure: {
      $0.readersMax = 1
      $0.readerWaitMs = 20
    }) { store, _ in
      try store.readBlocking { _ in
        let error = #expect(throws: StoreError.self) { try store.readSingleBlocking { _ in } }
        #expect(error?.code == .overloaded)
      }
      #expect(try await store.ids().isEmpty)
      #expect(store.metrics().readersOpen == 1)
      #expect(store.metrics().readerWaits == 1)
    }
  }

  @Test func waitingReadsGetConnections() async throws {
    try await withStore(configure: {
      $0.readersMax = 2
      $0.readerWaitMs = 60_000
    }) { store, _ in
      try await store.insert("a")
      let failures = LockedCount()
      DispatchQueue.concurrentPerform(iterations: 64) { _ in
        for _ in 0..<20 {
          let ids = try? store.readSingleBlocking { try $0.query("SELECT id FROM rows") { try $0.text(0) } }
          if ids != ["a"] { failures.add() }
        }
      }
      #expect(failures.value == 0)
      #expect(store.metrics().readersOpen <= 2)
    }
  }

  @Test func readTransactionsCannotWrite() async throws {
    try await withStore { (store: Store, _: Scratch) async throws in
      for sql in ["INSERT INTO rows VALUES ('a', 'b')", "WITH x AS (SELECT 1) DELETE FROM rows"] {
        #expect(throws: StoreError.self) { try store.readBlocking { try $0.forEach(sql) { _ in true } } }
      }
    }
  }

  @Test func numberedParametersBindByNumber() async throws {
    try await withStore { store, _ in
      let found = try store.readSingleBlocking { transaction in
        try transaction.queryOne("SELECT $2, CAST($1 AS BIGINT), $2, $3", [1, "two", nil]) { row in
          "\(try row.text(0)) \(try row.integer(1)) \(try row.text(2)) \(row.isNull(3))"
        }
      }
      #expect(found == "two 1 two true")
    }
  }

  @Test(.onSQLite) func questionMarksBindInOrder() async throws {
    try await withStore { store, _ in
      let plain = try store.readSingleBlocking { try $0.queryOne("SELECT ?, ?", [1, 2]) { try $0.integer(1) } }
      #expect(plain == 2)
    }
  }

  @Test(arguments: ["SELECT $1, $3", "SELECT :name", "SELECT $0", "SELECT $1, ?", "SELECT $x", "SELECT ?2", "SELEC 1"])
  func unsupportedParametersAreRefused(_ sql: String) async throws {
    try await withStore { (store: Store, _: Scratch) async throws in
      let code = await storeCode {
        _ = try store.readSingleBlocking { try $0.queryOne(sql, [1, 2]) { try $0.integer(0) } }
      }
      #expect(code == .invalidArgument)
    }
  }

  @Test func wrongArgumentCountIsRefused() async throws {
    try await withStore { store, _ in
      for arguments in [[], [1], [1, 2, 3]] as [[SQLValue]] {
        let code = await storeCode {
          _ = try store.readSingleBlocking { try $0.queryOne("SELECT $1, $2", arguments) { try $0.integer(0) } }
        }
        #expect(code == .invalidArgument)
      }
    }
  }

  @Test func valuesRoundTrip() async throws {
    // Columns, because a server reads a bare parameter as a text.
    let schema = [Migration("0001-values", "CREATE TABLE samples (n BIGINT, r DOUBLE PRECISION, t TEXT, b BYTEA)")]
    try await withStore(migrations: schema) { store, _ in
      let values: [(column: String, value: SQLValue)] = [
        ("n", .null), ("n", .integer(.min)), ("n", .integer(.max)), ("n", .bool(true)), ("n", .int(-1)),
        ("n", .integer(nil as Int64?)), ("r", .real(1.5)), ("t", .text("")), ("t", .text("ünïcødé 🔔\0nul")),
        ("t", .text(nil as String?)), ("b", .blob([])), ("b", .blob([0, 255, 0])), ("b", .blob(nil)),
      ]
      for (column, value) in values {
        let sql = "INSERT INTO samples (\(column)) VALUES ($1) RETURNING \(column)"
        let found = try await store.write { try $0.queryOne(sql, [value]) { $0.value(0) } }
        #expect(found == value)
      }
    }
  }

  @Test func wrongMappingsThrow() async throws {
    try await withStore { store, _ in
      let mappings: [(borrowing SQLRow) throws -> Void] = [
        { _ = try $0.text(0) }, { _ = try $0.integer(1) }, { _ = try $0.bytes(0) }, { _ = try $0.real(1) },
        { _ = try $0.text(2) }, { _ = try $0.integer(3) }, { _ = try $0.integer(-1) }, { _ = try $0.bool(1) },
      ]
      for mapping in mappings {
        let code = await storeCode {
          _ = try store.readSingleBlocking { try $0.queryOne("SELECT 1, 'a', NULL", [], mapping) }
        }
        #expect(code == .invalidArgument)
      }
    }
  }

  @Test func resultRowsAreLimited() async throws {
    try await withStore { store, _ in
      let code = await storeCode {
        _ = try store.readSingleBlocking { try $0.query("VALUES (1), (2), (3)", rowsMax: 2) { try $0.integer(0) } }
      }
      #expect(code == .overloaded)
    }
  }

  @Test func nestedQueriesWithSameTextWork() async throws {
    try await withStore { store, _ in
      for id in ["a", "b"] { try await store.insert(id) }
      let pairs = try store.readBlocking { transaction in
        try transaction.query("SELECT id FROM rows ORDER BY id") { outer in
          let inner = try transaction.query("SELECT id FROM rows ORDER BY id") { try $0.text(0) }
          return try outer.text(0) + inner.joined()
        }
      }
      #expect(pairs == ["aab", "bab"])
    }
  }

  @Test(.onSQLite) func fullScansAreDetected() async throws {
    try await withStore { (store: Store, _: Scratch) async throws in
      #expect(try store.fullScans("SELECT * FROM rows WHERE id = $1").isEmpty)
      #expect(try !store.fullScans("SELECT * FROM rows WHERE body = $1").isEmpty)
      #expect(try !store.fullScans("SELECT id FROM rows ORDER BY id LIMIT 1").isEmpty)
      #expect(try store.fullScans("SELECT id FROM rows ORDER BY id LIMIT 1", allowingIndexScans: true).isEmpty)
      #expect(try store.queryPlan("DELETE FROM rows WHERE id = $1").contains { $0.hasPrefix("SEARCH rows") })
    }
  }
}
