import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
import Synchronization
import Testing

let rowsSchema = [Migration("0001-rows", "CREATE TABLE rows (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL)")]

/// Opens a store on a server.
func openStore(
  _ address: String, migrations: [Migration] = rowsSchema, limits: PostgreSQLLimits = PostgreSQLLimits(),
  configure: (inout StoreConfiguration) -> Void = { _ in }
) throws -> (Store, PostgreSQLEngine) {
  let engine = try PostgreSQLEngine(address, limits: limits)
  var configuration = StoreConfiguration(engine)
  configure(&configuration)
  return (try Store(configuration, migrations: migrations), engine)
}

/// Runs `body` with a store on a new database of the shared server, then closes the store.
func withStore(
  migrations: [Migration] = rowsSchema, limits: PostgreSQLLimits = PostgreSQLLimits(),
  configure: (inout StoreConfiguration) -> Void = { _ in },
  _ body: (Store, PostgreSQLEngine) async throws -> Void
) async throws {
  let cluster = try PostgreSQLCluster.shared()
  let address = cluster.address(try cluster.createDatabase(), throughSocket: true)
  let (store, engine) = try openStore(address, migrations: migrations, limits: limits, configure: configure)
  do {
    try await body(store, engine)
  } catch {
    await store.close()
    throw error
  }
  await store.close()
}

extension Store {
  func insert(_ id: String, body: String = "b") async throws {
    _ = try await write { try $0.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(id), .text(body)]) }
  }

  /// Runs writes in one transaction, in order, and returns the errors by index.
  func batch(_ count: Int, _ write: @escaping @Sendable (Int) async throws -> Void) async throws -> [Int: StoreError] {
    let gate = DispatchSemaphore(value: 0)
    let isRunning = Atomic(false)
    let first = Task {
      try await self.write { _ in
        isRunning.store(true, ordering: .relaxed)
        gate.wait()
      }
    }
    while !isRunning.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(1)) }
    return try await withThrowingTaskGroup(of: (Int, StoreError?).self) { group in
      for index in 0..<count {
        group.addTask { (index, await storeError { try await write(index) }) }
        while metrics().pendingWrites <= index { try await Task.sleep(for: .milliseconds(1)) }
      }
      // A failure runs the first write again.
      for _ in 0..<3 { gate.signal() }
      try await first.value
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  func ids() async throws -> [String] {
    try await read { try $0.query("SELECT id FROM rows ORDER BY id", rowsMax: 1_000_000) { try $0.text(0) } }
  }
}

/// Returns the store error that `body` throws; nil if it throws none.
func storeError(_ body: () async throws -> Void) async -> StoreError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? StoreError
  }
}
