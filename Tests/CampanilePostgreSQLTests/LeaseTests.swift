import CampanileStore
import PostgreSQLServer
import Synchronization
import Testing

@testable import CampanilePostgreSQL

@Suite("Background work of several processes")
struct LeaseTests {
  /// Counts the processes that do a kind of work at this time, and those that have begun.
  private final class Work: Sendable {
    private let counts = Mutex((now: 0, most: 0, begun: [String]()))

    func begin(_ name: String) {
      counts.withLock { counts in
        counts.now += 1
        counts.most = max(counts.most, counts.now)
        counts.begun.append(name)
      }
    }

    func end() { counts.withLock { $0.now -= 1 } }

    var most: Int { counts.withLock { $0.most } }
    var begun: [String] { counts.withLock { $0.begun } }

    func awaitBegun(_ names: [String]) async throws {
      for _ in 0..<3_000 where begun != names { try await Task.sleep(for: .milliseconds(10)) }
      #expect(begun == names)
    }
  }

  private func start(_ store: Store, _ name: String, _ work: Work) -> Task<Void, Never> {
    Task {
      await store.whileHolding("work") {
        work.begin(name)
        defer { work.end() }
        try? await Task.sleep(for: .seconds(600))
      }
    }
  }

  @Test("one process works at a time, and another continues after its end", .timeLimit(.minutes(1)))
  func oneAtATime() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (first, _) = try openStore(cluster.address(database))
    let (second, _) = try openStore(cluster.address(database))
    let work = Work()
    let firstTask = start(first, "first", work)
    try await work.awaitBegun(["first"])
    let secondTask = start(second, "second", work)
    try await Task.sleep(for: .milliseconds(2_500))
    #expect(work.begun == ["first"])
    firstTask.cancel()
    await firstTask.value
    try await work.awaitBegun(["first", "second"])
    secondTask.cancel()
    await secondTask.value
    #expect(work.most == 1)
    await first.close()
    await second.close()
  }

  @Test("the work of a process whose session has ended is taken over at once", .timeLimit(.minutes(1)))
  func endedSession() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    // A process that has vanished: its session is not on the server, but its time is not over.
    let (gone, _) = try openStore(cluster.address(database))
    try await gone.write {
      try $0.execute(
        "INSERT INTO store_leases (name, owner, term, until_ms, backend) VALUES ('work', 1, 7, 9000000000000, 2147483647)"
      )
    }
    let work = Work()
    let task = start(gone, "next", work)
    try await work.awaitBegun(["next"])
    #expect(try cluster.query("SELECT term FROM store_leases", database: database) == "8")
    task.cancel()
    await task.value
    await gone.close()
  }

  @Test("a process that has lost its work writes nothing more", .timeLimit(.minutes(1)))
  func lostLease() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, _) = try openStore(cluster.address(database))
    let outcome = Mutex<(before: StoreError?, after: StoreError?)>((nil, nil))
    await store.whileHolding("work") {
      let before = await storeError { try await store.insert("before") }
      // Another process takes over.
      _ = try? cluster.query("UPDATE store_leases SET owner = 5, term = term + 1", database: database)
      let after = await storeError { try await store.insert("after") }
      outcome.withLock { $0 = (before, after) }
    }
    #expect(outcome.withLock { $0.before } == nil)
    #expect(outcome.withLock { $0.after }?.code == .interrupted)
    // Writes of callers do not depend on the lease.
    try await store.insert("call")
    #expect(try await store.ids() == ["before", "call"])
    await store.close()
  }

  @Test("work whose lease was taken is cancelled", .timeLimit(.minutes(1)))
  func cancelledWork() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (store, _) = try openStore(cluster.address(database))
    let work = Work()
    let task = start(store, "first", work)
    try await work.awaitBegun(["first"])
    try cluster.query("UPDATE store_leases SET owner = 5, term = term + 1, until_ms = 0", database: database)
    // It notices at its next extension, and takes the lease again.
    try await work.awaitBegun(["first", "first"])
    #expect(work.most == 1)
    task.cancel()
    await task.value
    await store.close()
  }
}
