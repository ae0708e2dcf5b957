import CampanilePostgreSQL
import CampanileStore
import PostgreSQLServer
import Testing

@Suite("Reads on a server")
struct ReaderTests {
  @Test("all queries of a read see one state of the database")
  func snapshot() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, _) = try openStore(cluster.address(database, throughSocket: true))
    try await store.insert("a")
    let seen = try await store.read { transaction in
      let first = try transaction.queryOne("SELECT count(*) FROM rows") { try $0.integer(0) }
      try cluster.query("INSERT INTO rows (id, body) VALUES ('b', '')", database: database)
      let second = try transaction.queryOne("SELECT count(*) FROM rows") { try $0.integer(0) }
      return [first, second]
    }
    #expect(seen == [1, 1])
    let single = try await store.readSingle { try $0.queryOne("SELECT count(*) FROM rows") { try $0.integer(0) } }
    #expect(single == 2)
    await store.close()
  }

  @Test("an idle connection is replaced if another server may have replaced its own")
  func idleConnectionsAreReplaced() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let place = "127.0.0.1:\(cluster.port)"
    for (hosts, isReplaced) in [(place, false), ("\(place),\(place)", true)] {
      let (store, _) = try openStore("postgresql://postgres@\(hosts)/\(try cluster.createDatabase())")
      let process = { try await store.readSingle { try $0.queryOne("SELECT pg_backend_pid()") { try $0.integer(0) } } }
      let first = try await process()
      #expect(try await process() == first)
      try await Task.sleep(for: .milliseconds(5_100))
      #expect(try await (process() != first) == isReplaced)
      #expect(store.metrics().readersOpen == 1)
      await store.close()
    }
  }

  @Test("a read changes nothing, even through a function")
  func readOnly() async throws {
    let schema = rowsSchema + [Migration("0002-numbers", "CREATE SEQUENCE numbers")]
    try await withStore(migrations: schema) { store, _ in
      try await store.insert("a")
      for sql in ["WITH gone AS (DELETE FROM rows RETURNING id) SELECT id FROM gone", "SELECT nextval('numbers')"] {
        for isSingle in [true, false] {
          let error = await storeError {
            let body: @Sendable (ReadTransaction) throws -> SQLValue? = { try $0.queryOne(sql) { $0.value(0) } }
            _ = isSingle ? try await store.readSingle(body) : try await store.read(body)
          }
          #expect(error?.code == .invalidArgument)
          #expect(error?.message.hasPrefix("a read cannot change anything: ") == true)
        }
      }
      let refused = await storeError {
        _ = try await store.read { try $0.queryOne("DELETE FROM rows") { $0.value(0) } }
      }
      #expect(refused?.code == .invalidArgument)
      #expect(try await store.ids() == ["a"])
      #expect(store.metrics().readersOpen == 1)
    }
  }

  @Test("rows of a large result arrive while they are mapped, with queries in between")
  func largeResult() async throws {
    try await withStore { store, _ in
      let sql = "SELECT n, repeat('x', 1000) FROM generate_series(1, 20000) n"
      let (sum, inner, first) = try await store.read { transaction in
        var sum: Int64 = 0
        var inner: Int64 = 0
        try transaction.forEach(sql) { row in
          let number = try row.integer(0)
          sum += number
          if number.isMultiple(of: 5_000) {
            inner += try transaction.queryOne("SELECT $1 * 2", [.integer(number)]) { try $0.integer(0) } ?? 0
          }
          return try row.text(1).utf8.count == 1_000
        }
        return (sum, inner, try transaction.queryOne(sql) { try $0.integer(0) })
      }
      #expect(sum == 20_000 * 20_001 / 2)
      #expect(inner == 100_000)
      #expect(first == 1)
      let failed = await storeError {
        try await store.readSingle {
          try $0.forEach("SELECT 1 / (5000 - n) FROM generate_series(1, 9000) n") { _ in true }
        }
      }
      #expect(failed?.engineCode == "22012")
      #expect(try await store.readSingle { try $0.queryOne("SELECT 7") { try $0.integer(0) } } == 7)
    }
  }

  @Test("an error in a read does not harm the next one")
  func failedRead() async throws {
    try await withStore { store, _ in
      for _ in 0..<20 {
        let error = await storeError { _ = try await store.read { try $0.queryOne("SELECT 1 / 0") { $0.value(0) } } }
        #expect(error?.engineCode == "22012")
        let ids = try await store.ids()
        #expect(ids.isEmpty)
      }
    }
  }

  @Test("more statements than the cache holds are dropped on the server")
  func manyStatements() async throws {
    try await withStore { store, _ in
      for index in 0..<1_200 {
        let sql = "SELECT \(index) AS column_\(index)"
        let found = try await store.readSingle { try $0.queryOne(sql) { try $0.integer(0) } }
        #expect(found == Int64(index))
      }
      let prepared = try await store.readSingle {
        try $0.queryOne("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 's%'") { try $0.integer(0) }
      }
      #expect((prepared ?? .max) <= 520)
    }
  }

  @Test("a column that changed its type is read again")
  func changedType() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, engine) = try openStore(cluster.address(database, throughSocket: true))
    try await store.insert("1", body: "7")
    let sql = "SELECT body FROM rows WHERE id = '1'"
    #expect(try await store.readSingle { try $0.queryOne(sql) { $0.value(0) } } == "7")
    #expect(try await store.write { try $0.queryOne(sql) { $0.value(0) } } == "7")
    try cluster.query("ALTER TABLE rows ALTER body TYPE BIGINT USING body::bigint", database: database)
    #expect(try await store.readSingle { try $0.queryOne(sql) { $0.value(0) } } == 7)
    #expect(try await store.read { try $0.queryOne(sql) { $0.value(0) } } == 7)
    #expect(try await store.write { try $0.queryOne(sql) { $0.value(0) } } == 7)
    #expect(engine.metrics.retries > 0)
    await store.close()
  }

  @Test("reads whose idle connections have ended run again")
  func endedConnections() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, engine) = try openStore(cluster.address(database))
    try await store.insert("a")
    _ = try await store.ids()
    try cluster.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database)' AND pid <> pg_backend_pid()"
    )
    #expect(try await store.ids() == ["a"])
    try await store.insert("b")
    #expect(
      try await store.readSingle { try $0.query("SELECT id FROM rows ORDER BY id") { try $0.text(0) } } == ["a", "b"])
    #expect(engine.metrics.retries >= 1)
    #expect(engine.metrics.reconnects >= 2)
    await store.close()
  }

  @Test("many concurrent reads share the connections")
  func concurrentReads() async throws {
    try await withStore { store, _ in
      try await store.insert("a")
      try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<200 { group.addTask { try await store.ids() } }
        for try await ids in group { #expect(ids == ["a"]) }
      }
      #expect(store.metrics().readersOpen <= 8)
    }
  }
}
