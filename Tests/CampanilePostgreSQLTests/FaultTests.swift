import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
import Synchronization
import Testing

/// The outcomes of writes under faults, compared with the database afterwards.
final class Judge: Sendable {
  static let schema = [
    Migration(
      "0001-judge",
      """
      CREATE TABLE tokens (id BIGINT NOT NULL PRIMARY KEY);
      CREATE TABLE totals (id BIGINT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
      INSERT INTO totals (id, value) VALUES (0, 0);
      """)
  ]

  private struct State {
    var next: Int64 = 0
    var acknowledged: Set<Int64> = []
    var failed: Set<Int64> = []
    var unknown: Set<Int64> = []
    var messages: Set<String> = []
  }
  private let state = Mutex(State())
  private let over = Atomic(false)

  /// Whether the load is over.
  var isOver: Bool { over.load(ordering: .relaxed) }
  func end() { over.store(true, ordering: .relaxed) }

  var acknowledgedCount: Int { state.withLock { $0.acknowledged.count } }
  var failedCount: Int { state.withLock { $0.failed.count } }
  var unknownCount: Int { state.withLock { $0.unknown.count } }
  var messages: Set<String> { state.withLock { $0.messages } }

  /// Writes a new token. An error that leaves the outcome open is recorded as such.
  @discardableResult
  func write(_ store: Store) async -> Bool {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    let error = await storeError {
      try await store.write { transaction in
        try transaction.execute("INSERT INTO tokens (id) VALUES ($1)", [.integer(id)])
        try transaction.execute("UPDATE totals SET value = value + 1 WHERE id = 0")
      }
    }
    state.withLock { state in
      guard let error else {
        state.acknowledged.insert(id)
        return
      }
      state.messages.insert(error.message)
      if error.engineCode == "08007" { state.unknown.insert(id) } else { state.failed.insert(id) }
    }
    return error == nil
  }

  /// Expects that acknowledged writes are found once, and failed ones are not.
  func judge(_ cluster: PostgreSQLCluster, _ database: String) throws {
    let text = try cluster.query("SELECT id FROM tokens", database: database)
    let ids = text.split(separator: "\n").compactMap { Int64($0) }
    let found = Set(ids)
    state.withLock { state in
      #expect(state.acknowledged.subtracting(found).isEmpty, "lost")
      #expect(found.intersection(state.failed).isEmpty, "found although failed")
      #expect(found.subtracting(state.acknowledged).isSubset(of: state.unknown))
    }
    let total = try cluster.query("SELECT value FROM totals", database: database)
    #expect(Int(total) == found.count, "twice")
  }
}

@Suite("Faults of servers and connections", .timeLimit(.minutes(5)))
struct FaultTests {
  private static let directions = [FaultyProxy.Direction.toServer, .toClient]

  /// Without statements between the commits, whose bytes would be cut instead.
  private var limits: PostgreSQLLimits {
    var limits = PostgreSQLLimits()
    limits.sizeIntervalMs = .max
    return limits
  }

  @Test(
    "a connection cut after any byte of a commit loses no acknowledged write, and none runs twice",
    arguments: directions)
  func cutConnection(_ direction: FaultyProxy.Direction) async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let proxy = try FaultyProxy(to: cluster.port)
    defer { proxy.close() }
    let (store, engine) = try openStore(
      cluster.address(database, port: proxy.port), migrations: Judge.schema, limits: limits)
    let judge = Judge()
    await judge.write(store)
    // Ends with the first commit that has fewer bytes.
    var count = 0
    while proxy.faults == count {
      proxy.fail(.cut, direction, afterBytes: count)
      await judge.write(store)
      proxy.disarm()
      // Prepares the statements in the new session.
      #expect(await judge.write(store))
      count += 1
    }
    try judge.judge(cluster, database)
    #expect(proxy.faults > 100)
    #expect(judge.unknownCount == 0)
    let metrics = engine.metrics
    #expect(metrics.reconnects >= proxy.faults)
    #expect(direction == .toServer || metrics.recoveredCommits > 100)
    #expect(metrics.lostCommits + metrics.recoveredCommits > 100)
    await store.close()
  }

  @Test(
    "a second cut, after every 8th byte of the look-up of a commit without an answer, changes no outcome",
    arguments: directions)
  func cutLookUp(_ direction: FaultyProxy.Direction) async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let proxy = try FaultyProxy(to: cluster.port)
    defer { proxy.close() }
    let (store, engine) = try openStore(
      cluster.address(database, port: proxy.port), migrations: Judge.schema, limits: limits)
    let judge = Judge()
    #expect(await judge.write(store))
    var commits: Int64 = 0
    while Int64(proxy.faults) == 2 * commits {
      // The server commits, and its answer is lost.
      proxy.fail(.cut, .toClient, afterBytes: 0, thenCut: (direction, afterBytes: 8 * Int(commits)))
      #expect(await judge.write(store))
      proxy.disarm()
      #expect(await judge.write(store))
      commits += 1
    }
    try judge.judge(cluster, database)
    #expect(commits > 50)
    #expect(engine.metrics.recoveredCommits == commits)
    #expect(engine.metrics.lostCommits == 0)
    #expect(judge.failedCount == 0)
    await store.close()
  }

  @Test(
    "after a cut at every 8th byte, a store that connects, authenticates and migrates opens or is unavailable",
    arguments: directions)
  func cutOpening(_ direction: FaultyProxy.Direction) async throws {
    let cluster = try PostgreSQLCluster()
    let database = try cluster.createDatabase()
    try cluster.query("CREATE ROLE secret LOGIN PASSWORD 'geheim'; ALTER DATABASE \(database) OWNER TO secret")
    try cluster.prepend(["host all secret 127.0.0.1/32 scram-sha-256"], to: "pg_hba.conf")
    try cluster.reload()
    let passfile = NSTemporaryDirectory() + "campanile-pass-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: passfile) }
    try "*:*:*:secret:geheim\n".write(toFile: passfile, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passfile)
    let proxy = try FaultyProxy(to: cluster.port)
    defer { proxy.close() }
    let address = cluster.address(database, user: "secret", port: proxy.port) + "?passfile=\(passfile)"
    let judge = Judge()
    var count = 0
    while proxy.faults == count {
      proxy.fail(.cut, direction, afterBytes: 8 * count)
      // libpq may connect again without TLS by itself.
      let error = await storeError {
        let (store, _) = try openStore(address, migrations: Judge.schema, limits: limits)
        await store.close()
      }
      proxy.disarm()
      #expect(error == nil || error?.code == .unavailable)
      #expect(error?.description.contains("geheim") != true)
      count += 1
    }
    let (store, _) = try openStore(address, migrations: Judge.schema, limits: limits)
    #expect(await judge.write(store))
    try judge.judge(cluster, database)
    #expect(proxy.faults > 100)
    await store.close()
  }

  @Test("messages that arrive after their commit was given up change nothing")
  func lateMessages() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let proxy = try FaultyProxy(to: cluster.port)
    defer { proxy.close() }
    var limits = PostgreSQLLimits()
    limits.silenceMsMax = 1_000
    limits.sizeIntervalMs = .max
    let (store, engine) = try openStore(
      cluster.address(database, port: proxy.port), migrations: Judge.schema, limits: limits)
    let judge = Judge()
    await judge.write(store)
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = '\(database)'"
    proxy.fail(.hold, .toServer, afterBytes: 0)
    #expect(await judge.write(store) == false)
    #expect(judge.messages.first?.hasSuffix("; the transaction was not committed") == true)
    #expect(engine.metrics.lostCommits == 1)
    proxy.release()
    // The server has read all of it when the session has ended. The reader's stays.
    while try cluster.query(sessions) != "1" { try await Task.sleep(for: .milliseconds(20)) }
    await judge.write(store)
    try judge.judge(cluster, database)
    #expect(judge.failedCount == 1)
    await store.close()
  }

  @Test("a server killed and restarted under load loses no acknowledged write")
  func killedServer() async throws {
    let cluster = try PostgreSQLCluster()
    let database = try cluster.createDatabase()
    let (store, engine) = try openStore(cluster.address(database), migrations: Judge.schema)
    let judge = Judge()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        group.addTask {
          while !judge.isOver {
            if await !judge.write(store) { try await Task.sleep(for: .milliseconds(10)) }
          }
        }
      }
      group.addTask {
        while !judge.isOver {
          _ = try? await store.read { try $0.queryOne("SELECT count(*) FROM tokens") { try $0.integer(0) } }
          try await Task.sleep(for: .milliseconds(5))
        }
      }
      defer { judge.end() }
      for _ in 0..<5 {
        let before = judge.acknowledgedCount
        while judge.acknowledgedCount < before + 100 { try await Task.sleep(for: .milliseconds(5)) }
        try cluster.kill()
        try cluster.start()
      }
      let before = judge.acknowledgedCount
      while judge.acknowledgedCount < before + 100 { try await Task.sleep(for: .milliseconds(5)) }
    }
    try judge.judge(cluster, database)
    #expect(store.metrics().reopens + engine.metrics.reconnects > 0)
    #expect(judge.unknownCount == 0)
    await store.close()
  }
}
