import CampanilePostgreSQL
import CampanileStore
import PostgreSQLServer
import Testing

@Suite("The state of a server")
struct ConditionTests {
  @Test("a writer reports the size, the standbys, vacant leases and the clock")
  func conditionOfServer() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    var limits = PostgreSQLLimits()
    limits.sizeIntervalMs = 0
    let (store, engine) = try openStore(cluster.address(database), limits: limits)
    try await store.insert("a")
    let condition = try #require(engine.condition)
    #expect(condition.databaseBytes > 0)
    #expect(condition.replayingStandbys == 0)
    #expect(condition.lagBytes == 0)
    #expect(condition.vacantLeases == 0)
    #expect(abs(condition.clockSkewMs) < 60_000)
    #expect(try engine.report().vacancies.isEmpty)
    // The holder has vanished, and no process takes the lease. The lease of a process itself is never taken.
    let lease = """
      INSERT INTO store_leases (name, owner, term, until_ms, backend)
      VALUES ('timers', 1, 1, 5, 0), ('process-1', 1, 1, 5, 0)
      """
    _ = try cluster.query(lease, database: database)
    try await store.insert("b")
    #expect(engine.condition?.vacantLeases == 1)
    #expect(try engine.report().vacancies.map(\.name) == ["timers"])
    await store.close()
  }
}
