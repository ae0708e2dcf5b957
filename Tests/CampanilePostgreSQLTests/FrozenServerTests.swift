import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
import Testing

@Suite("Servers that do not answer", .timeLimit(.minutes(3)))
struct FrozenServerTests {
  private var limits: PostgreSQLLimits {
    var limits = PostgreSQLLimits()
    limits.silenceMsMax = 1_000
    limits.sizeIntervalMs = .max
    limits.outcomeMsMax = 4_000
    return limits
  }

  private func backends(_ cluster: PostgreSQLCluster, _ database: String) throws -> [Int32] {
    try cluster.query("SELECT pid FROM pg_stat_activity WHERE datname = '\(database)'")
      .split(separator: "\n").compactMap { Int32($0) }
  }

  @Test("a frozen session ends at the deadline, and its late work is fenced")
  func frozenSession() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, _) = try openStore(cluster.address(database), migrations: Judge.schema, limits: limits)
    let judge = Judge()
    await judge.write(store)
    let frozen = try backends(cluster, database)
    for process in frozen { kill(process, SIGSTOP) }
    defer { for process in frozen { kill(process, SIGCONT) } }
    #expect(await judge.write(store) == false)
    #expect(
      judge.messages.first == """
        the connection to the server was lost: no answer within 1000 ms; the transaction was not committed
        """)
    let read = await storeError { _ = try await store.readSingle { try $0.queryOne("SELECT 1") { $0.value(0) } } }
    #expect(read?.code == .unavailable)
    #expect(await judge.write(store))
    for process in frozen { kill(process, SIGCONT) }
    while try !Set(backends(cluster, database)).isDisjoint(with: frozen) {
      try await Task.sleep(for: .milliseconds(20))
    }
    try judge.judge(cluster, database)
    await store.close()
  }

  @Test("a session frozen while it holds the lane leaves the outcome unknown until the limit")
  func frozenTransaction() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, engine) = try openStore(cluster.address(database), limits: limits)
    try await store.insert("a")
    let error = await storeError {
      try await store.write { transaction in
        let process = try transaction.queryOne("SELECT pg_backend_pid()") { try $0.integer(0) }
        try transaction.execute("INSERT INTO rows (id, body) VALUES ('b', '')")
        kill(Int32(process ?? 0), SIGSTOP)
      }
    }
    #expect(error?.code == .unavailable)
    #expect(error?.engineCode == "08007")
    #expect(error?.message.hasSuffix("; whether the transaction was committed is unknown") == true)
    #expect(engine.metrics.lostCommits == 1)
    let waiting = await storeError { try await store.insert("c") }
    #expect(waiting?.message == "another writer has held the lane for too long")
    for process in try backends(cluster, database) { kill(process, SIGCONT) }
    while await storeError({ try await store.insert("c") }) != nil {}
    #expect(try await store.ids().contains("c"))
    await store.close()
  }

  @Test("a frozen server does not hang a store that opens")
  func frozenServer() async throws {
    let cluster = try PostgreSQLCluster()
    let database = try cluster.createDatabase()
    let process = try cluster.processID()
    kill(process, SIGSTOP)
    defer { kill(process, SIGCONT) }
    let error = await storeError { _ = try openStore(cluster.address(database), limits: limits) }
    #expect(error?.code == .unavailable)
    #expect(error?.message.hasPrefix("the server did not respond in time: ") == true)
  }

  @Test("a commit that no standby confirms is not acknowledged")
  func unconfirmedCommit() async throws {
    let cluster = try PostgreSQLCluster()
    let database = try cluster.createDatabase()
    let (store, _) = try openStore(cluster.address(database))
    try await store.insert("a")
    try cluster.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    try cluster.reload()
    while try cluster.query("SHOW synchronous_standby_names") != "nobody" {
      try await Task.sleep(for: .milliseconds(10))
    }
    async let outcome = storeError { try await store.insert("b") }
    let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    while try cluster.query(cancel) == "0" { try await Task.sleep(for: .milliseconds(10)) }
    let error = await outcome
    #expect(error?.code == .unavailable)
    #expect(error?.message.hasPrefix("the commit is not confirmed by the standby: ") == true)
    try cluster.query("ALTER SYSTEM RESET synchronous_standby_names")
    try cluster.reload()
    while await storeError({ try await store.insert("c") }) != nil {}
    #expect(try await store.ids().suffix(1) == ["c"])
    await store.close()
  }
}
