import CPostgreSQL
import CampanileStore

/// Checks whether a server and its database are fit for a store. Each error contains the remedy.
enum ServerCheck {
  static let versionMin = 150_000

  /// Checks what the server has reported at the start of the session.
  static func checkServer(_ handle: OpaquePointer, _ address: ServerAddress) throws(StoreError) {
    if let fault = versionFault(Int(PQserverVersion(handle))) { throw unfit(fault, address) }
    let encoding = parameter(handle, "server_encoding")
    guard encoding == "UTF8" else {
      throw unfit("the database has the encoding \(encoding) instead of UTF8; \(creation(address))", address)
    }
  }

  /// Returns nil for a version that a store can use.
  static func versionFault(_ version: Int) -> String? {
    guard version < versionMin else { return nil }
    return "the server is PostgreSQL \(name(version)), but the store needs \(name(versionMin)) or newer"
  }

  static let query = """
    SELECT current_database(), CASE d.datlocprovider WHEN 'b' THEN 'C' WHEN 'i' THEN 'ICU' ELSE d.datcollate END,
      pg_is_in_recovery(), current_schema(),
      coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), current_setting('synchronous_commit'),
      num_nulls(to_regclass('store_lanes'), to_regclass('store_commits'), to_regclass('store_leases')) = 0,
      current_user,
      (SELECT nspname FROM pg_catalog.pg_namespace
        JOIN unnest(string_to_array(current_setting('search_path'), ',')) WITH ORDINALITY AS p (name, place)
          ON nspname = replace(btrim(name, ' "'), '$user', current_user)
        ORDER BY place LIMIT 1),
      (SELECT concat(string_agg(p.privilege, ', ' ORDER BY p.place), ' on ', t.name)
        FROM unnest(ARRAY['schema_migrations', 'store_commits', 'store_lanes', 'store_leases']) AS t (name),
          unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) WITH ORDINALITY AS p (privilege, place)
        WHERE NOT has_table_privilege(to_regclass(t.name)::oid, p.privilege)
        GROUP BY t.name ORDER BY t.name LIMIT 1)
    FROM pg_catalog.pg_database d WHERE d.datname = current_database()
    """

  /// Checks the answer to `query`.
  ///
  /// - Returns: Whether the tables of `LaneSchema` exist.
  static func checkDatabase(_ row: borrowing SQLRow, _ address: ServerAddress) throws -> Bool {
    let collation = try row.text(1)
    guard collation == "C" || collation == "POSIX" else {
      throw unfit("the database has the collation \(collation) instead of C; \(creation(address))", address)
    }
    guard try !row.bool(2) else {
      throw unfit("the server is a standby in recovery; name the primary, or all servers", address)
    }
    let user = identifier(try row.text(7))
    guard let schema = try row.textIfPresent(3) else {
      guard let unusable = try row.textIfPresent(8) else {
        throw unfit("no schema of the search path exists; run: CREATE SCHEMA public AUTHORIZATION \(user)", address)
      }
      throw unfit(
        "the user has no right to use the schema; run: "
          + "GRANT USAGE, CREATE ON SCHEMA \(identifier(unusable)) TO \(user)", address)
    }
    guard try row.bool(4) else {
      throw unfit(
        "the user has no right to create tables; run: GRANT CREATE ON SCHEMA \(identifier(schema)) TO \(user)", address)
    }
    if let missing = try row.textIfPresent(9) {
      throw unfit(
        "the user has no right to \(missing); connect as the owner of the tables, or run as this owner: "
          + "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(identifier(schema)) TO \(user)", address)
    }
    guard try row.text(5) != "off" else {
      throw unfit(
        "synchronous_commit is off, so a commit does not survive a crash; run: "
          + "ALTER DATABASE \(identifier(try row.text(0))) SET synchronous_commit = on", address)
    }
    return try row.bool(6)
  }

  /// Returns the command that creates the database as a store needs it.
  static func creation(_ address: ServerAddress) -> String {
    "create it with: CREATE DATABASE \(identifier(address.database)) TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
  }

  private static func name(_ version: Int) -> String { "\(version / 10_000).\(version % 10_000)" }

  static func identifier(_ name: String) -> String {
    "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }

  private static func parameter(_ handle: OpaquePointer, _ name: String) -> String {
    PQparameterStatus(handle, name).map { String(cString: $0) } ?? "unknown"
  }

  private static func unfit(_ message: String, _ address: ServerAddress) -> StoreError {
    StoreError(.unavailable, message, path: address.place)
  }
}
