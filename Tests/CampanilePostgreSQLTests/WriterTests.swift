import CampanilePostgreSQL
import CampanileStore
import Synchronization
import Testing

@Suite("Writes on a server")
struct WriterTests {
  struct Refused: Error {}

  @Test("concurrent writes share commits, and all are found")
  func groupCommit() async throws {
    try await withStore { store, engine in
      let before = engine.metrics
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<500 { group.addTask { try await store.insert("r\(index)") } }
        try await group.waitForAll()
      }
      #expect(try await store.ids().count == 500)
      let metrics = store.metrics()
      #expect(metrics.commits < 400)
      #expect(metrics.writes == 500)
      // One for each commit, and one for the description of the statement.
      #expect(engine.metrics.roundTrips - before.roundTrips < 2 * metrics.commits + 20)
    }
  }

  @Test("a commit of 64 writes with four statements each is flushed three times at most", arguments: [false, true])
  func flushes(asksAhead: Bool) async throws {
    var limits = PostgreSQLLimits()
    limits.sizeIntervalMs = .max
    try await withStore(limits: limits) { store, engine in
      let write: @Sendable (String) async throws -> Void = { id in
        let query = SQLQuery("SELECT body FROM rows WHERE id = $1", [.text("\(id)-0")])
        try await store.write(ahead: asksAhead ? ReadAhead(subject: id, [query]) : nil) { transaction in
          if asksAhead { _ = try transaction.queryOne(query) { try $0.text(0) } }
          for part in 0..<4 {
            try transaction.execute(
              "INSERT INTO rows (id, body) VALUES ($1, $2)",
              [.text("\(id)-\(part)"), .text(String(repeating: "b", count: 400))])
          }
        }
      }
      // Prepares the statements.
      try await write("first")
      let before = (store.metrics().commits, engine.metrics.flushes)
      #expect(try await store.batch(64) { try await write("r\($0)") }.isEmpty)
      #expect(store.metrics().commits - before.0 == 1)
      #expect(engine.metrics.flushes - before.1 <= 3)
      #expect(try await store.ids().count == 65 * 4)
    }
  }

  @Test("a constraint that fails unawaited in the middle of a batch fails only its write")
  func failureInBatch() async throws {
    try await withStore { store, _ in
      try await store.insert("taken")
      let codes = try await withThrowingTaskGroup(of: (Int, StoreError.Code?).self) { group in
        for index in 0..<200 {
          group.addTask {
            let isBad = index % 20 == 7
            let error = await storeError { try await store.insert(isBad ? "taken" : "r\(index)") }
            return (index, error?.code)
          }
        }
        return try await group.reduce(into: [Int: StoreError.Code]()) { $0[$1.0] = $1.1 }
      }
      let failed = codes
      #expect(failed.keys.sorted() == (0..<200).filter { $0 % 20 == 7 })
      #expect(failed.values.allSatisfy { $0 == .constraint })
      #expect(try await store.ids().count == 191)
      #expect(store.metrics().failedWrites == 10)
    }
  }

  @Test("a write that throws after changes leaves nothing, and the others of its batch stay")
  func thrownInBatch() async throws {
    try await withStore { store, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<100 {
          group.addTask {
            _ = try? await store.write { transaction in
              try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'b')", [.text("r\(index)")])
              if index % 10 == 3 { throw Refused() }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await store.ids().count == 90)
    }
  }

  @Test("a body that hides the failure of a statement is not acknowledged")
  func hiddenFailure() async throws {
    try await withStore { store, _ in
      try await store.insert("taken")
      let error = await storeError {
        try await store.write { transaction in
          _ = try? transaction.executeCounting("INSERT INTO rows (id, body) VALUES ('taken', 'b')")
          try transaction.execute("INSERT INTO rows (id, body) VALUES ('other', 'b')")
        }
      }
      #expect(error?.code == .constraint)
      #expect(try await store.ids() == ["taken"])
    }
  }

  @Test("a faulty statement fails its write with a clear error, and the next write works")
  func faultyStatement() async throws {
    try await withStore { store, _ in
      let error = await storeError { try await store.write { try $0.execute("UPDATE nothing SET x = 1") } }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message == "relation \"nothing\" does not exist")
      let refused = await storeError { try await store.write { try $0.execute("COMMIT") } }
      #expect(refused?.code == .invalidArgument)
      try await store.insert("a")
      #expect(try await store.ids() == ["a"])
    }
  }

  @Test("counts, returned rows and nested queries are those of the statements before")
  func reading() async throws {
    try await withStore { store, _ in
      let (count, ids, pairs) = try await store.write { transaction in
        for id in ["a", "b", "c"] {
          try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, '')", [.text(id)])
        }
        let count = try transaction.executeCounting("UPDATE rows SET body = 'x' WHERE id > $1", ["a"])
        let ids = try transaction.query("DELETE FROM rows WHERE id = 'b' RETURNING id") { try $0.text(0) }
        var pairs: [String] = []
        try transaction.forEach("SELECT id FROM rows ORDER BY id") { row in
          let outer = try row.text(0)
          try transaction.forEach("SELECT body FROM rows WHERE id = $1", [.text(outer)]) { inner in
            pairs.append(outer + (try inner.text(0)))
            return true
          }
          return true
        }
        return (count, ids, pairs)
      }
      #expect(count == 2)
      #expect(ids == ["b"])
      #expect(pairs == ["a", "cx"])
    }
  }

  @Test("beforeCommit runs once for a batch, and its failure fails all of it")
  func beforeCommit() async throws {
    let isRefusing = Atomic(false)
    let runs = Atomic(0)
    try await withStore { configuration in
      configuration.beforeCommit = { transaction in
        runs.add(1, ordering: .relaxed)
        try transaction.execute(
          "INSERT INTO rows (id, body) VALUES ($1, 'commit')", [.text("c\(runs.load(ordering: .relaxed))")])
        if isRefusing.load(ordering: .relaxed) { throw StoreError(.invalidArgument, "refused") }
      }
    } _: { store, _ in
      try await store.insert("a")
      #expect(try await store.ids() == ["a", "c1"])
      isRefusing.store(true, ordering: .relaxed)
      let error = await storeError { try await store.insert("b") }
      #expect(error?.message == "refused")
      #expect(try await store.ids() == ["a", "c1"])
    }
  }

  @Test("a deferred constraint is checked for each write after a failure")
  func deferredConstraint() async throws {
    let schema = [
      Migration(
        "0001-tree",
        """
        CREATE TABLE tree (id BIGINT NOT NULL PRIMARY KEY,
          parent BIGINT REFERENCES tree (id) DEFERRABLE INITIALLY DEFERRED)
        """)
    ]
    try await withStore(migrations: schema) { store, _ in
      let codes = try await withThrowingTaskGroup(of: (Int, StoreError.Code?).self) { group in
        for id in 0..<40 {
          group.addTask {
            let parent = id == 13 ? 9_999 : id
            let error = await storeError {
              try await store.write {
                try $0.execute("INSERT INTO tree (id, parent) VALUES ($1, $2)", [.int(id), .int(parent)])
              }
            }
            return (id, error?.code)
          }
        }
        return try await group.reduce(into: [Int: StoreError.Code]()) { $0[$1.0] = $1.1 }
      }
      #expect(codes == [13: .constraint])
      let count = try await store.read { try $0.queryOne("SELECT count(*) FROM tree") { try $0.integer(0) } }
      #expect(count == 39)
    }
  }

  @Test("megabytes in one batch do not block either side")
  func largeBatch() async throws {
    try await withStore { store, _ in
      let text = String(repeating: "x", count: 1 << 20)
      try await store.write { transaction in
        for index in 0..<40 {
          try transaction.execute(
            "INSERT INTO rows (id, body) VALUES ($1, $2) RETURNING body", [.text("r\(index)"), .text(text)])
        }
      }
      #expect(try await store.ids().count == 40)
    }
  }

  @Test("more statements than the cache holds can be used")
  func manyStatements() async throws {
    try await withStore { store, _ in
      for round in 0..<3 {
        try await store.write { transaction in
          for index in 0..<400 {
            let found = try transaction.queryOne("SELECT \(round * 400 + index) AS column_\(index)") {
              try $0.integer(0)
            }
            guard found == Int64(round * 400 + index) else { throw Refused() }
          }
        }
      }
      try await store.insert("a")
      let prepared = try await store.write {
        try $0.queryOne("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 's%'") { try $0.integer(0) }
      }
      #expect((prepared ?? .max) <= 520)
    }
  }
}
