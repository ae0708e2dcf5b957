import CampanilePostgreSQL
import CampanileStore
import Testing

@Suite("Queries asked ahead on a server")
struct AheadTests {
  private static let count = 40

  private static func query(_ id: String) -> SQLQuery { SQLQuery("SELECT body FROM rows WHERE id = $1", [.text(id)]) }

  /// Adds a letter to a row, whose text is read first.
  private static func extend(_ id: String, _ transaction: WriteTransaction) throws {
    let body = try transaction.queryOne(query(id)) { try $0.text(0) }
    try transaction.execute("UPDATE rows SET body = $1 WHERE id = $2", [.text((body ?? "?") + "x"), .text(id)])
  }

  private func body(_ id: String, _ store: Store) async throws -> String? {
    try await store.read { try $0.queryOne(Self.query(id)) { try $0.text(0) } }
  }

  @Test("the first queries of many writes cost one round trip")
  func roundTrips() async throws {
    try await withStore { store, engine in
      for index in 0..<Self.count { try await store.insert("r\(index)") }
      // Prepares the statements.
      try await store.write { try Self.extend("r0", $0) }
      let before = engine.metrics.roundTrips
      let errors = try await store.batch(Self.count) { index in
        let id = "r\(index)"
        try await store.write(ahead: ReadAhead(subject: id, [Self.query(id)])) { try Self.extend(id, $0) }
      }
      #expect(errors.isEmpty)
      #expect(engine.metrics.roundTrips - before <= 3)
      #expect(try await body("r1", store) == "bx")
    }
  }

  @Test("a write sees what earlier writes of its commit have changed", arguments: ["equal", "subject", "unknown"])
  func conflicts(_ kind: String) async throws {
    try await withStore { store, _ in
      try await store.insert("a")
      let errors = try await store.batch(Self.count) { index in
        var queries = [Self.query("a")]
        // Queries that differ, so that only the subject shows that they read the same row.
        if kind == "subject" { queries = [SQLQuery("SELECT body FROM rows WHERE id = 'a' AND $1 = $1", [.int(index)])] }
        let isUnknown = kind == "unknown" && index.isMultiple(of: 3)
        let ahead = ReadAhead(subject: kind == "subject" ? "a" : nil, queries)
        try await store.write(ahead: isUnknown ? nil : ahead) { [queries] transaction in
          let body = try transaction.queryOne(queries[0]) { try $0.text(0) }
          try transaction.execute("UPDATE rows SET body = $1 WHERE id = 'a'", [.text((body ?? "?") + "x")])
        }
      }
      #expect(errors.isEmpty)
      #expect(try await body("a", store) == "b" + String(repeating: "x", count: Self.count))
    }
  }

  @Test("a query ahead that fails fails only its write")
  func failingQuery() async throws {
    try await withStore { store, _ in
      for index in 0..<Self.count { try await store.insert("r\(index)") }
      let errors = try await store.batch(Self.count) { index in
        let id = "r\(index)"
        let query = index == 7 ? SQLQuery("SELECT (1 / ($1::bigint - 7))::text", [.int(index)]) : Self.query(id)
        try await store.write(ahead: ReadAhead(subject: id, [query])) { transaction in
          _ = try transaction.queryOne(query) { try $0.text(0) }
          try Self.extend(id, transaction)
        }
      }
      #expect(errors.keys.sorted() == [7])
      #expect(errors[7]?.engineCode == "22012")
      #expect(try await body("r7", store) == "b")
      #expect(try await body("r8", store) == "bx")
    }
  }

  @Test("a change that finds no row fails only its write, with the caller's error")
  func missingRow() async throws {
    try await withStore { store, engine in
      for index in 0..<Self.count where index != 7 { try await store.insert("r\(index)") }
      let change: @Sendable (String, WriteTransaction) throws -> Void = { id, transaction in
        try transaction.execute(
          "UPDATE rows SET body = 'x' WHERE id = $1", [.text(id)], orThrow: StoreError(.overloaded, "no row \(id)"))
      }
      let errors = try await store.batch(Self.count) { index in try await store.write { try change("r\(index)", $0) } }
      #expect(errors.keys.sorted() == [7])
      #expect(errors[7]?.message == "no row r7")
      #expect(try await body("r8", store) == "x")
      // Alone, its COMMIT is in the same message.
      let before = engine.metrics.roundTrips
      let error = await storeError {
        try await store.write { transaction in
          try transaction.execute("UPDATE rows SET body = 'y' WHERE id = 'r8'")
          try change("r7", transaction)
        }
      }
      #expect(error?.code == .overloaded)
      #expect(engine.metrics.roundTrips - before <= 6)
      #expect(try await body("r8", store) == "x")
    }
  }
}
