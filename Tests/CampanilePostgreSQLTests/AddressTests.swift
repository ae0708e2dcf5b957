import CampanileStore
import Foundation
import Testing

@testable import CampanilePostgreSQL

@Suite("Addresses of servers")
struct AddressTests {
  @Test("messages show the address without its parameters")
  func place() throws {
    let engine = try PostgreSQLEngine("postgresql://u@one:5432,two:5433/data?sslmode=verify-full&passfile=/secret")
    #expect(engine.place == "postgresql://u@one:5432,two:5433/data")
    #expect(try PostgreSQLEngine("postgres://one/data").place == "postgresql://one/data")
    #expect(
      try PostgreSQLEngine("postgresql://u@/data?host=/run/postgresql").place == "postgresql://u@/run/postgresql/data")
  }

  @Test("a password in a setting is refused, and not repeated")
  func password() async {
    for text in [
      "postgresql://u:geheim@one/data", "postgresql://u@one/data?password=geheim",
      "postgresql://u@one/data?sslpassword=geheim", "postgres://u@one/data?sslmode=require&sslpassword=geheim",
    ] {
      let error = await storeError { _ = try PostgreSQLEngine(text, setting: "--store") }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message.hasPrefix("--store: other users can read a password there; put it into ~/.pgpass") == true)
      #expect(error?.description.contains("geheim") == false)
    }
  }

  @Test(
    "keyword=value pairs and mistaken schemes are refused, and the error does not repeat a password",
    arguments: [
      "host=one password=geheim", "  user=u password = geheim host=/run/postgresql", "password=geheim", "hots=geheim",
      "dbname=postgresql://u:geheim@one/data", "postgresql:/u:geheim@one/data", "PostgreSQL://u:geheim@one/data",
      "u:geheim@one/data", "//u:geheim@one/data", "u@one:5432/data?password=geheim",
    ])
  func pairs(_ text: String) async {
    let error = await storeError { _ = try PostgreSQLEngine(text) }
    #expect(error?.code == .invalidArgument)
    #expect(
      error?.message == """
        --store: not an address like postgresql://user@host:5432/database; \
        put keyword=value pairs into a file with mode 0600, or ./ in front of a path
        """)
    #expect(error?.description.contains("geheim") == false)
  }

  @Test("what is no address is refused with the setting's name")
  func malformed() async {
    for (text, message) in [
      ("postgresql://[::1/data", "--store: not an address like postgresql://user@host:5432/database"),
      ("postgresql://u@one", "--store: the address names no database"),
      ("postgresql://u@one/data?colour=red", "--store: not an address like postgresql://user@host:5432/database"),
      ("/nowhere/address", "--store: cannot open the file: No such file or directory"),
      ("/tmp", "--store: not a regular file"),
      ("./host=nowhere", "--store: cannot open the file: No such file or directory"),
      ("file:host=nowhere", "--store: cannot open the file: No such file or directory"),
    ] {
      let error = await storeError { _ = try PostgreSQLEngine(text) }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message == message)
    }
  }

  @Test("an address file may hold a password if only its owner can read it")
  func addressFile() async throws {
    let path = NSTemporaryDirectory() + "campanile-address-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for content in [
      "  postgresql://u:geheim@one/data \n", "postgresql://u@one/data?sslpassword=geheim",
      "host=one user=u dbname=data password=geheim",
    ] {
      try content.write(toFile: path, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      let error = await storeError { _ = try PostgreSQLEngine(path) }
      #expect(error?.message == "--store: the file holds a password that other users can read; run: chmod 600 \(path)")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      for text in [path, "file:\(path)", "file://\(path)"] {
        #expect(try PostgreSQLEngine(text).place == "postgresql://u@one/data")
      }
    }
  }

  @Test("settings that begin like an address are told from paths")
  func kinds() {
    #expect(PostgreSQLEngine.isAddress("postgresql://one/data"))
    #expect(PostgreSQLEngine.isAddress("postgres://one/data"))
    #expect(!PostgreSQLEngine.isAddress("/var/lib/store"))
  }

  @Test("hosts that did not respond are tried last")
  func order() {
    let (order, start) = (HostOrder(), ContinuousClock.now)
    func positions(after seconds: Int) -> [Int] { order.positions(3, now: start + .seconds(seconds)) }
    let hosts = [("one", "5432"), ("two", "5432"), ("two", "5433")].map { (name: $0.0, port: $0.1) }
    order.record(
      messages: [
        #"connection to server at "one" (10.0.0.1), port 5432 failed: timeout expired"#,
        #"connection to server at "two" (10.0.0.2), port 5432 failed: session is read-only"#,
        #"connection to server at "two" (10.0.0.2), port 5433 failed: Connection refused"#,
      ], hosts, now: start)
    #expect(positions(after: 1) == [1, 2, 0])
    // The second one accepts after a long delay, which the first of those tried has caused.
    order.record(tried: [1], accepted: 2, took: .seconds(2), now: start + .seconds(1))
    #expect(positions(after: 2) == [2, 0, 1])
    order.record(tried: [2], accepted: 0, took: .milliseconds(5), now: start + .seconds(3))
    #expect(positions(after: 4) == [0, 2, 1])
    #expect(positions(after: 60) == [0, 1, 2])
  }

  @Test("an address in another order keeps each host's port and address")
  func ordered() throws {
    let address = try ServerAddress(
      "postgresql://u@one:1,two:2,three:3/data?hostaddr=10.0.0.1,10.0.0.2,10.0.0.3", setting: "--store",
      defaultDatabase: nil)
    let parameters = address.ordered([2, 0, 1]).connection(.writer, PostgreSQLLimits())
    #expect(parameters["host"] == "three,one,two")
    #expect(parameters["port"] == "3,1,2")
    #expect(parameters["hostaddr"] == "10.0.0.3,10.0.0.1,10.0.0.2")
    let shared = try ServerAddress("postgresql://u@one,two/data?port=7", setting: "--store", defaultDatabase: nil)
    #expect(shared.ordered([1, 0]).connection(.writer, PostgreSQLLimits())["host"] == "two,one")
    #expect(shared.hosts.map(\.port) == ["7", "7"])
  }
}
