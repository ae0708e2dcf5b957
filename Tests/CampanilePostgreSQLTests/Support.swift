import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
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
