import CampanilePostgreSQL
public import CampanileStore
import Foundation
import PostgreSQLServer
import Synchronization
package import Testing

/// The engine of stores in tests: SQLite, or PostgreSQL if `CAMPANILE_TEST_STORE` is `postgresql`.
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
    try PostgreSQLCluster.shared().address(try database.get(), throughSocket: true)
      + "&options=-c%20search_path%3D\(try schema(path))"
  }

  /// Returns the first columns of the rows of a table in the schema of a path.
  public static func column(_ name: String, of table: String, where condition: String, _ path: String) throws
    -> [String]
  {
    let sql = "SELECT \(name) FROM \(try schema(path)).\(table) WHERE \(condition) ORDER BY 1"
    return try PostgreSQLCluster.shared().query(sql, database: try database.get()).split(separator: "\n").map(
      String.init)
  }

  /// Returns the tables in the schema of a path as SQL text.
  static func dump(_ path: String) throws -> String {
    try PostgreSQLCluster.shared().dump(schema: schema(path), database: database.get())
  }

  /// Creates the tables of such a text in the schema of a path.
  static func load(_ dump: String, _ path: String) throws {
    try PostgreSQLCluster.shared().load(dump, schema: schema(path), database: database.get())
  }

  private static func schema(_ path: String) throws -> String {
    try schemas.withLock { schemas in
      if let known = schemas[path] { return known }
      let schema = "test\(schemas.count + 1)"
      try PostgreSQLCluster.shared().query("CREATE SCHEMA \(schema)", database: try database.get())
      schemas[path] = schema
      return schema
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs a test of SQLite's files, locks, plans, syntax or older data on SQLite only.
  package static var onSQLite: Self { .enabled(if: !TestStore.usesPostgreSQL, "it concerns SQLite") }
}
