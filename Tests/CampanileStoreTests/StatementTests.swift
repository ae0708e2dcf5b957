import CampanileStore
import Testing

@Suite struct StatementTests {
  /// Texts and blobs of all lengths round-trip: those that fit into the bind buffer, those that do not, and alternating
  /// ones.
  @Test func valuesOfAllLengthsRoundTrip() async throws {
    let schema = [Migration("0001-values", "CREATE TABLE kept (n BIGINT NOT NULL PRIMARY KEY, t TEXT, b BYTEA)")]
    try await withStore(migrations: schema) { store, _ in
      let lengths = [0, 1, 15, 16, 100, 255, 256, 257, 5_000, 65_535, 65_536, 65_537, 200_000, 3, 0]
      for (index, length) in lengths.enumerated() {
        let text = String(repeating: "è", count: length / 2) + (length % 2 == 1 ? "x" : "")
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) }
        try await store.write { transaction in
          try transaction.execute(
            "INSERT INTO kept (n, t, b) VALUES ($1, $2, $3)", [.int(index), .text(text), .blob(bytes)])
        }
        let found = try store.readSingleBlocking { transaction in
          try transaction.queryOne(
            "SELECT t, b FROM kept WHERE n = $1 AND t = $2 AND b = $3",
            [.int(index), .text(text), .blob(bytes)]
          ) { (try $0.text(0), try $0.bytes(1)) }
        }
        #expect(found?.0 == text)
        #expect(found?.1 == bytes)
      }
      let nulls = try await store.write { transaction in
        try transaction.execute("INSERT INTO kept (n, t, b) VALUES ($1, $2, $3)", [.int(100), .null, .null])
        return try transaction.queryOne("SELECT t IS NULL AND b IS NULL FROM kept WHERE n = $1", [.int(100)]) {
          try $0.bool(0)
        }
      }
      #expect(nulls == true)
    }
  }

  /// A nested query with the same text does not reuse the statement of the outer one.
  @Test func nestedQueriesWithSameTextAreIndependent() async throws {
    try await withStore { store, _ in
      for id in ["a", "b", "c"] { try await store.insert(id, body: "body of \(id)") }
      let sql = "SELECT id, body FROM rows WHERE id >= $1 ORDER BY id"
      var seen: [String] = []
      try store.readBlocking { transaction in
        try transaction.forEach(sql, ["a"]) { outer in
          let id = try outer.text(0)
          let last = try transaction.query(sql, [.text(id)]) { try $0.text(1) }.last
          seen.append("\(id): \(last ?? "")")
          return true
        }
      }
      #expect(seen == ["a: body of c", "b: body of c", "c: body of c"])
    }
  }

  /// Covers texts built at run time, more of them than the cache holds, and equal texts at different addresses.
  @Test func runTimeTextsBeyondCacheSizeWork() async throws {
    try await withStore { store, _ in
      try await store.insert("a")
      for round in 0..<2 {
        for number in 0..<600 {
          let sql = "SELECT \(number) FROM rows WHERE id = $1 AND \(number) = \(number)"
          let found = try store.readSingleBlocking { try $0.queryOne(sql, ["a"]) { try $0.integer(0) } }
          #expect(found == Int64(number), "round \(round)")
        }
      }
    }
  }

  /// Also refused after the store itself has compiled the same text for its own commits.
  @Test func transactionControlIsRefusedInBodies() async throws {
    try await withStore { store, _ in
      for id in ["a", "b"] {
        for sql in ["COMMIT", "BEGIN IMMEDIATE", "ROLLBACK"] {
          let code = await storeCode { try await store.write { try $0.execute(sql) } }
          #expect(code == .invalidArgument)
        }
        try await store.insert(id)
        let code = await storeCode { try store.readBlocking { try $0.forEach("COMMIT") { _ in true } } }
        #expect(code == .invalidArgument)
      }
      let code = await storeCode { try store.readBlocking { try $0.forEach("DELETE FROM rows") { _ in true } } }
      #expect(code == .invalidArgument)
      #expect(try await store.ids() == ["a", "b"])
    }
  }
}
