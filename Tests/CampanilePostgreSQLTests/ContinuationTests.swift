import CampanilePostgreSQL
import CampanileStore
import Dispatch
import PostgreSQLServer
import Synchronization
import Testing

/// The rows that writes have changed, remembered for as long as the store allows.
private final class Memory: Sendable {
  private struct State {
    var bodies: [String: String] = [:]
    var isKept = false
  }
  private let state = Mutex(State())
  /// Runs once, when a transaction begins after one that was undone.
  let restart = Mutex<(@Sendable () -> Void)?>(nil)

  func configure(_ configuration: inout StoreConfiguration) {
    configuration.onBegin = { continues in
      let isRestart = self.state.withLock { state in
        defer { state.isKept = false }
        if !continues || !state.isKept { state.bodies = [:] }
        return !state.isKept
      }
      guard isRestart else { return }
      let action = self.restart.withLock { restart in
        defer { restart = nil }
        return restart
      }
      action?()
    }
    configuration.observer = { commit in self.state.withLock { $0.isKept = commit.failure == nil } }
  }

  var isEmpty: Bool { state.withLock { $0.bodies.isEmpty } }

  func body(_ id: String, _ transaction: WriteTransaction) throws -> String? {
    if let known = state.withLock({ $0.bodies[id] }) { return known.isEmpty ? nil : known }
    let found = try transaction.queryOne("SELECT body FROM rows WHERE id = $1", [.text(id)]) { try $0.text(0) }
    state.withLock { $0.bodies[id] = found ?? "" }
    return found
  }

  /// Adds a letter to a row.
  func extend(_ id: String, _ transaction: WriteTransaction) throws {
    guard let body = try body(id, transaction) else { throw StoreError(.invalidArgument, "no row \(id)") }
    try transaction.execute("UPDATE rows SET body = $1 WHERE id = $2", [.text(body + "x"), .text(id)])
    state.withLock { $0.bodies[id] = body + "x" }
  }
}

@Suite("Transactions that continue the last commit")
struct ContinuationTests {
  /// Enough commits for a connection to expect that it is alone.
  private static let commits = 12

  /// Runs `body` with a store that remembers, after some commits that extend the row `a`, and another store on the same
  /// database.
  private func withTwoStores(_ body: (Store, Memory, Store, PostgreSQLEngine) async throws -> Void) async throws {
    let cluster = try PostgreSQLCluster.shared()
    let address = cluster.address(try cluster.createDatabase(), throughSocket: true)
    let memory = Memory()
    let (store, engine) = try openStore(address, configure: memory.configure)
    let (other, _) = try openStore(address)
    try await store.insert("a")
    for _ in 0..<Self.commits { try await store.write { try memory.extend("a", $0) } }
    do {
      try await body(store, memory, other, engine)
    } catch {
      await store.close()
      await other.close()
      throw error
    }
    await store.close()
    await other.close()
  }

  private func body(_ id: String, _ store: Store) async throws -> String? {
    try await store.read { try $0.queryOne("SELECT body FROM rows WHERE id = $1", [.text(id)]) { try $0.text(0) } }
  }

  private static let extended = "b" + String(repeating: "x", count: commits)

  @Test("a write that remembers what it needs costs one round trip")
  func roundTrips() async throws {
    try await withTwoStores { store, memory, _, engine in
      let before = engine.metrics.roundTrips
      for _ in 0..<5 { try await store.write { try memory.extend("a", $0) } }
      #expect(engine.metrics.roundTrips - before == 5)
      #expect(try await body("a", store) == Self.extended + "xxxxx")
    }
  }

  @Test("a commit of another process in between is seen")
  func lostUpdate() async throws {
    try await withTwoStores { store, memory, other, _ in
      for _ in 0..<3 {
        try await other.write { try $0.execute("UPDATE rows SET body = 'c' WHERE id = 'a'") }
        try await store.write { try memory.extend("a", $0) }
        #expect(try await body("a", store) == "cx")
        for _ in 0..<Self.commits { try await store.write { try memory.extend("a", $0) } }
      }
    }
  }

  @Test("an error and a result without any statement follow the latest state")
  func unwritten() async throws {
    try await withTwoStores { store, memory, other, _ in
      // Remembers that there is no row.
      _ = await storeError { try await store.write { try memory.extend("b", $0) } }
      #expect(!memory.isEmpty)
      try await other.insert("b")
      try await store.write { try memory.extend("b", $0) }
      #expect(try await body("b", store) == "bx")

      for _ in 0..<Self.commits { try await store.write { try memory.extend("b", $0) } }
      try await other.write { try $0.execute("UPDATE rows SET body = 'c' WHERE id = 'b'") }
      let body = try await store.write { try memory.body("b", $0) }
      #expect(body == "c")
    }
  }

  @Test("a write that fails after an interruption fails alone")
  func failureAfterInterruption() async throws {
    try await withTwoStores { store, memory, other, _ in
      try await other.write { try $0.execute("UPDATE rows SET body = 'c' WHERE id = 'a'") }
      var errors: [StoreError] = []
      await withTaskGroup(of: StoreError?.self) { group in
        for index in 0..<20 {
          group.addTask {
            await storeError {
              if index == 7 { return try await store.insert("a") }
              try await store.write { try memory.extend("a", $0) }
            }
          }
        }
        for await case let error? in group { errors.append(error) }
      }
      #expect(errors.map(\.code) == [.constraint])
      #expect(try await body("a", store) == "c" + String(repeating: "x", count: 19))
    }
  }

  @Test("a write that is repeated after a failure of its own does not fail because of a commit in between")
  func secondRun() async throws {
    try await withTwoStores { store, memory, other, _ in
      memory.restart.withLock {
        $0 = {
          let done = DispatchSemaphore(value: 0)
          Task {
            try? await other.write { try $0.execute("UPDATE rows SET body = 'c' WHERE id = 'a'") }
            done.signal()
          }
          done.wait()
        }
      }
      let error = await storeError { try await store.insert("a") }
      #expect(error?.code == .constraint)
      try await store.write { try memory.extend("a", $0) }
      #expect(try await body("a", store) == "cx")
    }
  }

  @Test("two stores that take turns lose nothing")
  func turns() async throws {
    try await withTwoStores { store, memory, other, _ in
      await withTaskGroup(of: StoreError?.self) { group in
        for _ in 0..<4 {
          group.addTask {
            await storeError { for _ in 0..<50 { try await store.write { try memory.extend("a", $0) } } }
          }
          group.addTask {
            // This store remembers nothing.
            await storeError {
              for _ in 0..<50 {
                try await other.write { try $0.execute("UPDATE rows SET body = body || 'x' WHERE id = 'a'") }
              }
            }
          }
        }
        for await error in group { #expect(error == nil) }
      }
      let last = try await body("a", store)
      #expect(last?.count == Self.extended.count + 400)
    }
  }
}
