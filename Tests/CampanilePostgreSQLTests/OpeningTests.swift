import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
import Testing

@Suite("Servers and databases that are not fit for a store")
struct OpeningTests {
  private func failure(_ address: String) async -> StoreError? {
    await storeError {
      let (store, _) = try openStore(address)
      await store.close()
    }
  }

  @Test("another collation or encoding is refused with the command that creates the database")
  func collation() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let other = try cluster.createDatabase("LOCALE 'C.UTF-8'")
    let error = await failure(cluster.address(other, throughSocket: true))
    #expect(
      error?.message == """
        the database has the collation C.UTF-8 instead of C; create it with: \
        CREATE DATABASE "\(other)" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'
        """)
    let ascii = try cluster.createDatabase("ENCODING 'SQL_ASCII'")
    let encoding = await failure(cluster.address(ascii, throughSocket: true))
    #expect(
      encoding?.message.hasPrefix("the database has the encoding SQL_ASCII instead of UTF8; create it with: ") == true)
  }

  @Test("a user without the right to create tables is told how to get it")
  func privilege() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    try cluster.query("CREATE ROLE \"no rights\" LOGIN")
    let address = cluster.address(database, user: "no%20rights")
    let error = await failure(address)
    #expect(
      error?.message == """
        the user has no right to create tables; run: GRANT CREATE ON SCHEMA "public" TO "no rights"
        """)
    try cluster.query("GRANT CREATE ON SCHEMA \"public\" TO \"no rights\"", database: database)
    #expect(await failure(address) == nil)
    try cluster.query("ALTER ROLE \"no rights\" SET search_path = nothing")
    #expect(
      await failure(address)?.message == """
        no schema of the search path exists; run: CREATE SCHEMA public AUTHORIZATION "no rights"
        """)
  }

  @Test("a missing right on the database, the schema or the tables is named with the command that grants it")
  func otherPrivileges() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (owned, _) = try openStore(cluster.address(database))
    await owned.close()
    try cluster.query("CREATE ROLE tenant LOGIN; REVOKE CONNECT ON DATABASE \(database) FROM public")
    let address = cluster.address(database, user: "tenant")
    let connecting = await failure(address)
    #expect(
      connecting?.message
        == "the user has no right to connect; run: GRANT CONNECT ON DATABASE \"\(database)\" TO \"tenant\"")
    #expect(connecting?.engineCode == "42501")
    try cluster.query("GRANT CONNECT ON DATABASE \"\(database)\" TO \"tenant\"")
    try cluster.query("REVOKE USAGE ON SCHEMA public FROM public", database: database)
    let using = await failure(address)
    #expect(
      using?.message
        == "the user has no right to use the schema; run: GRANT USAGE, CREATE ON SCHEMA \"public\" TO \"tenant\"")
    try cluster.query("GRANT USAGE, CREATE ON SCHEMA \"public\" TO \"tenant\"", database: database)
    try cluster.query("GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA public TO tenant", database: database)
    let writing = await failure(address)
    #expect(writing?.code == .unavailable)
    #expect(
      writing?.message == """
        the user has no right to INSERT, UPDATE on schema_migrations; connect as the owner of the tables, or run as \
        this owner: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "public" TO "tenant"
        """)
    #expect(await storeError { _ = try PostgreSQLEngine(address).report() } == writing)
    try cluster.query(
      "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"public\" TO \"tenant\"", database: database)
    #expect(await failure(address) == nil)
  }

  @Test("a right on a table that is missed later has an error with the remedy")
  func laterPrivileges() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (owned, _) = try openStore(cluster.address(database))
    await owned.close()
    try cluster.query("CREATE ROLE guest LOGIN")
    try cluster.query(
      """
      GRANT CREATE ON SCHEMA public TO guest;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest;
      REVOKE INSERT ON rows FROM guest
      """, database: database)
    let remedy = "; the user needs SELECT, INSERT, UPDATE and DELETE on all tables, and migrations need their owner"
    let address = cluster.address(database, user: "guest")
    let (store, _) = try openStore(address)
    let error = await storeError { try await store.insert("a") }
    #expect(error?.engineCode == "42501")
    #expect(error?.message == "permission denied for table rows" + remedy)
    #expect(try await store.ids().isEmpty)
    await store.close()
    let changed = rowsSchema + [Migration("0002-size", "ALTER TABLE rows ADD COLUMN size BIGINT")]
    let migrating = await storeError { _ = try openStore(address, migrations: changed) }
    #expect(migrating?.message == "migration 0002-size failed: must be owner of table rows" + remedy)
  }

  @Test("a server before version 15 is refused with both versions")
  func oldServer() async throws {
    let server = try StubServer(version: "13.12")
    defer { server.close() }
    let address = "postgresql://postgres@127.0.0.1:\(server.port)/data"
    let error = await failure(address)
    #expect(error?.code == .unavailable)
    #expect(error?.message == "the server is PostgreSQL 13.12, but the store needs 15.0 or newer")
    #expect(error?.path == address)
    #expect(await storeError { _ = try PostgreSQLEngine(address).report() } == error)
  }

  @Test("commits that would not be durable are refused")
  func synchronousCommit() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    try cluster.query("ALTER DATABASE \(database) SET synchronous_commit = off")
    let error = await failure(cluster.address(database))
    #expect(
      error?.message == """
        synchronous_commit is off, so a commit does not survive a crash; run: \
        ALTER DATABASE "\(database)" SET synchronous_commit = on
        """)
  }

  @Test("a missing database, an unreachable port and too few connections have clear errors")
  func unreachable() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let missing = await failure(cluster.address("nothing"))
    #expect(
      missing?.message == """
        there is no database nothing; create it with: \
        CREATE DATABASE "nothing" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'
        """)
    let refused = await failure(cluster.address("postgres", port: 1))
    #expect(refused?.code == .unavailable)
    #expect(refused?.engineCode == "08001")
    #expect(refused?.message.contains("Connection refused") == true)
    let database = try cluster.createDatabase()
    try cluster.query("CREATE ROLE single LOGIN CONNECTION LIMIT 1; ALTER DATABASE \(database) OWNER TO single")
    let few = await failure(cluster.address(database, user: "single"))
    #expect(few?.code == .overloaded)
    #expect(few?.engineCode == "53300")
    #expect(few?.message == "the server has no connection left; increase max_connections")
  }

  @Test("a wrong or missing password is reported without it, and a passfile works")
  func password() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    try cluster.query("CREATE ROLE secret LOGIN PASSWORD 'richtig'; ALTER DATABASE \(database) OWNER TO secret")
    try cluster.prepend(["host all secret 127.0.0.1/32 scram-sha-256"], to: "pg_hba.conf")
    try cluster.reload()
    let address = cluster.address(database, user: "secret")
    let missing = await failure(address)
    #expect(missing?.message == "the server asks for a password of user secret; put it into ~/.pgpass or a passfile")
    let path = NSTemporaryDirectory() + "campanile-pass-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for (password, message) in [("falsch", "the server refused the password of user secret"), ("richtig", nil)] {
      try "*:*:*:secret:\(password)\n".write(toFile: path, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      let error = await failure(address + "?passfile=\(path)")
      #expect(error?.message == message)
      #expect(error == nil || error?.engineCode == "28P01")
    }
  }

  @Test("TLS with verify-full accepts the server's own certificate only")
  func certificates() async throws {
    let cluster = try PostgreSQLCluster(settings: ["ssl = off"])
    let database = try cluster.createDatabase()
    try cluster.enableTLS(name: "localhost")
    let local = cluster.address(database).replacing("127.0.0.1", with: "localhost")
    let authority = "sslmode=verify-full&sslrootcert=\(cluster.certificate)"
    #expect(await failure("\(local)?\(authority)") == nil)
    let wrongName = await failure("\(cluster.address(database))?\(authority)")
    #expect(wrongName?.code == .unavailable)
    #expect(wrongName?.message.contains("does not match host name \"127.0.0.1\"") == true)
    let other = try PostgreSQLCluster(settings: ["ssl = off"])
    try other.enableTLS(name: "localhost")
    let foreign = await failure("\(local)?sslmode=verify-full&sslrootcert=\(other.certificate)")
    #expect(foreign?.code == .unavailable)
    #expect(foreign?.message.contains("certificate verify failed") == true)
    let untrusted = await failure("\(local)?sslmode=verify-full&sslrootcert=/nowhere.pem")
    #expect(untrusted?.message.contains("root certificate file \"/nowhere.pem\" does not exist") == true)
  }

  @Test("of several servers, the writer finds the one that accepts writes")
  func severalServers() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let readOnly = try PostgreSQLCluster()
    try readOnly.query("CREATE DATABASE \(database) TEMPLATE template0")
    try readOnly.query("ALTER DATABASE \(database) SET default_transaction_read_only = on")
    let hosts = "127.0.0.1:\(readOnly.port),127.0.0.1:\(cluster.port)"
    let (store, engine) = try openStore("postgresql://postgres@\(hosts)/\(database)")
    try await store.insert("a")
    #expect(try cluster.query("SELECT id FROM rows", database: database) == "a")
    #expect(engine.place == "postgresql://postgres@\(hosts)/\(database)")
    await store.close()
  }
}
