import CampanileBase
import CampanilePostgreSQL
import CampanileStore
import PostgreSQLServer
import Synchronization
import Testing

@Suite("Schemas and the store's own tables on a server")
struct SchemaTests {
  @Test("a migration runs its text for PostgreSQL, once")
  func dialect() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let address = cluster.address(try cluster.createDatabase(), throughSocket: true)
    let migrations =
      rowsSchema + [
        Migration(
          "0002-words", "CREATE VIRTUAL TABLE words USING fts5 (text)", postgreSQL: "CREATE TABLE words (text TSVECTOR)"
        )
      ]
    let (first, _) = try openStore(address, migrations: migrations)
    #expect(first.migrationPlan.pending.suffix(2) == ["0001-rows", "0002-words"])
    await first.close()
    let (second, _) = try openStore(address, migrations: migrations)
    #expect(second.migrationPlan.pending.isEmpty)
    await second.close()

    var changed = migrations
    changed[1].postgreSQL = "CREATE TABLE words (text TEXT)"
    let error = await storeError { _ = try openStore(address, migrations: changed) }
    #expect(error?.code == .migration)
    #expect(error?.message == "migration 0002-words was changed after it had been applied")
    let newer = await storeError { _ = try openStore(address, migrations: rowsSchema) }
    #expect(newer?.code == .migration)
  }

  @Test("a later step's text for PostgreSQL converts the rows of a dump")
  func laterSteps() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    func address(_ schema: String) throws -> String {
      try cluster.query("CREATE SCHEMA \(schema)", database: database)
      return cluster.address(database, throughSocket: true) + "&options=-c%20search_path%3D\(schema)"
    }
    let bodies = ["", "it's", "a\n\n-- b\nSET c = '\n\\d", "é earlier. later.", String(repeating: "é", count: 100_000)]
    let (earlier, _) = try openStore(try address("earlier"))
    for (index, body) in bodies.enumerated() { try await earlier.insert("\(index)", body: body) }
    await earlier.close()
    let dump = try cluster.dump(schema: "earlier", database: database)
    #expect(!dump.contains("earlier.rows") && !dump.contains("\n--\n"))

    let target = try address("later")
    try cluster.load(dump, schema: "later", database: database)
    #expect(try cluster.dump(schema: "later", database: database) == dump)
    let step = Migration(
      "0002-sizes", "UPDATE rows SET body = json_set(body, '$.size', 1)",
      postgreSQL: """
        ALTER TABLE rows ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
        UPDATE rows SET size = octet_length(body), body = body || '.';
        """)
    let (later, _) = try openStore(target, migrations: rowsSchema + [step])
    #expect(later.migrationPlan.pending == ["0002-sizes"])
    let rows = try await later.readSingle {
      try $0.query("SELECT body, size FROM rows ORDER BY id") { (try $0.text(0), try $0.integer(1)) }
    }
    #expect(rows.map { "\($0.0) \($0.1)" } == bodies.map { "\($0). \($0.utf8.count)" })
    await later.close()
  }

  @Test("a plan of migrations names what a start would do, and changes nothing")
  func plan() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let address = cluster.address(database, throughSocket: true)
    let configuration = StoreConfiguration(try PostgreSQLEngine(address))
    let relations = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    let new = try Store.migrationPlan(configuration, migrations: rowsSchema)
    #expect(new.applied.isEmpty && new.pending.last == "0001-rows")
    #expect(try cluster.query(relations, database: database) == "0")

    let (store, _) = try openStore(address)
    try await store.insert("a")
    await store.close()
    let state = """
      SELECT (\(relations)), l, c, m.identifier FROM store_lanes l, store_commits c, schema_migrations m
      ORDER BY 2, 3, 4
      """
    let before = try cluster.query(state, database: database)
    let later = rowsSchema + [Migration("0002-size", "ALTER TABLE rows ADD COLUMN size BIGINT")]
    let plan = try Store.migrationPlan(configuration, migrations: later)
    #expect(plan.applied.last == "0001-rows" && plan.pending == ["0002-size"])
    let unknown = await storeError { _ = try Store.migrationPlan(configuration, migrations: []) }
    #expect(unknown?.code == .migration)
    #expect(try cluster.query(state, database: database) == before)
  }

  @Test("a migration that fails leaves nothing, and one that ends its transaction is refused")
  func failedMigration() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let address = cluster.address(database, throughSocket: true)
    for sql in ["CREATE TABLE a (x BIGINT); CREATE TABLE a (x BIGINT)", "CREATE TABLE a (x BIGINT); ROLLBACK"] {
      let error = await storeError { _ = try openStore(address, migrations: [Migration("0001-a", sql)]) }
      #expect(error?.code == .migration)
      #expect(error?.message.hasPrefix("migration 0001-a failed: ") == true)
      #expect(try cluster.query("SELECT to_regclass('a') IS NULL", database: database) == "t")
    }
  }

  @Test("processes that start together apply each migration once")
  func concurrentStarts() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let address = cluster.address(try cluster.createDatabase(), throughSocket: true)
    let migrations = (0..<5).map { Migration("000\($0)", "CREATE TABLE t\($0) (x BIGINT)") }
    let plans = try await withThrowingTaskGroup(of: MigrationPlan.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let (store, _) = try openStore(address, migrations: migrations)
          await store.close()
          return store.migrationPlan
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for migration in migrations {
      #expect(plans.count { $0.pending.contains(migration.identifier) } == 1)
      #expect(plans.count { $0.applied.contains(migration.identifier) } == 3)
    }
  }

  @Test("two stores on one database take turns and see each other's writes")
  func twoStores() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let address = cluster.address(database, throughSocket: true)
    let (first, _) = try openStore(address)
    let (second, _) = try openStore(address)
    let counter = "UPDATE rows SET body = (body::bigint + 1)::text WHERE id = 'n' RETURNING body"
    try await first.insert("n", body: "0")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<200 {
        let store = index.isMultiple(of: 2) ? first : second
        group.addTask { _ = try await store.write { try $0.queryOne(counter) { try $0.text(0) } } }
      }
      try await group.waitForAll()
    }
    #expect(try await second.read { try $0.queryOne("SELECT body FROM rows") { try $0.text(0) } } == "200")
    let head = try cluster.query("SELECT head FROM store_lanes", database: database)
    #expect((Int64(head) ?? 0) >= first.metrics().commits + second.metrics().commits)
    await first.close()
    await second.close()
  }

  @Test("a reply is stored once, and found by its request id")
  func idempotency() async throws {
    try await withStore { store, _ in
      let key = IdempotencyKey(principal: "u", method: "/m", requestID: "1")
      let answers = try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for index in 0..<50 {
          group.addTask {
            try await store.write { transaction in
              if let reply = try transaction.storedReply(key, requestHash: [1], nowMs: 10) { return reply }
              try transaction.storeReply([UInt8(index)], key, requestHash: [1], expiresAtMs: 100)
              return [UInt8(index)]
            }
          }
        }
        return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
      }
      #expect(answers.count == 1)
      let reused = await storeError {
        _ = try await store.write { try $0.storedReply(key, requestHash: [2], nowMs: 10) }
      }
      #expect(reused?.code == .requestIDReused)
      #expect(try await store.purgeIdempotency(nowMs: 100) == 1)
    }
  }

  @Test("messages of the outbox are delivered in order, and those of the inbox accepted once")
  func outboxAndInbox() async throws {
    try await withStore { store, _ in
      for index in 0..<20 {
        _ = try await store.write { transaction in
          try transaction.enqueue(topic: "t", key: "k\(index % 3)", payload: [UInt8(index)], nowMs: 1, trace: nil)
        }
      }
      let delivered = Mutex<[OutboxMessage]>([])
      let relay = OutboxRelay(store: store, environment: RelayEnvironment(nowMs: { 5 })) { message in
        delivered.withLock { $0.append(message) }
        return message.payload == [6] ? .reject(reason: "no") : .delivered
      }
      let round = try await relay.deliverDue()
      #expect(round.delivered == 19)
      #expect(round.deadLetters == 1)
      for key in 0..<3 {
        let payloads = delivered.withLock { $0.filter { $0.key == "k\(key)" }.map { Int($0.payload[0]) } }
        #expect(payloads == payloads.sorted())
      }
      let counts = try await store.outboxCounts()
      #expect(counts.pending == 0)
      #expect(counts.deadLetters == 1)
      let dead = try await store.deadLetters()
      #expect(dead.map(\.payload) == [[6]])
      #expect(try await store.reviveDeadLetter(dead[0].sequence, nowMs: 6))
      let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<30 {
          group.addTask { try await store.write { try $0.acceptOnce(source: "s", messageID: "m", nowMs: 1) } }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(accepted.count { $0 } == 1)
      #expect(try await store.purgeInbox(seenBeforeMs: 2) == 1)
    }
  }
}
