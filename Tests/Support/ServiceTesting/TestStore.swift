import CampanilePostgreSQL
public import CampanileStore
import Foundation
import PostgreSQLServer
import Synchronization
package import Testing

/// The engine of the services' tests: SQLite, or PostgreSQL if `CAMPANILE_TEST_STORE` is `postgresql`.
public enum TestStore {
  public static let usesPostgreSQL = ProcessInfo.processInfo.environment["CAMPANILE_TEST_STORE"] == "postgresql"

  private static let database = Result { try PostgreSQLCluster.shared().createDatabase() }
  private static let schemas = Mutex<[String: String]>([:])

  /// Returns the configuration of a store that survives no power loss.
  ///
  /// - Parameter path: The database file. On PostgreSQL, every path has a schema of its own on the server that the
  ///   tests of this process share.
  public static func configuration(_ path: String) throws -> StoreConfiguration {
    if usesPostgreSQL { return StoreConfiguration(try PostgreSQLEngine(address(path))) }
    var configuration = StoreConfiguration(path: path)
    configuration.durability = .normal
    return configuration
  }

  /// Returns the address of a schema for a path, and creates it at the first call.
  public static func address(_ path: String) throws -> String {
    let cluster = try PostgreSQLCluster.shared()
    let database = try database.get()
    let schema = try schemas.withLock { schemas in
      if let known = schemas[path] { return known }
      let schema = "test\(schemas.count + 1)"
      try cluster.query("CREATE SCHEMA \(schema)", database: database)
      schemas[path] = schema
      return schema
    }
    return cluster.address(database, throughSocket: true) + "&options=-c%20search_path%3D\(schema)"
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs a test of SQLite's files, plans or older data on SQLite only.
  package static var onSQLite: Self { .enabled(if: !TestStore.usesPostgreSQL, "it concerns SQLite") }
}
