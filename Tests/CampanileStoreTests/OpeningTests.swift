import Foundation
import GRDB
import ServiceTesting
import Testing

@testable import CampanileStore

@Suite(.onSQLite) struct OpeningTests {
  private func mode(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
  }

  @Test func filesArePrivate() async throws {
    try await withStore { store, scratch in
      try await store.insert("a")
      #expect(try mode(scratch.path) == 0o700)
      for suffix in ["", "-wal", "-shm", ".lock"] { #expect(try mode(scratch.file() + suffix) == 0o600) }
    }
  }

  @Test func permissionsOfOtherUsersAreRemoved() async throws {
    let scratch = Scratch()
    try scratch.makeDirectory()
    let isCreated = FileManager.default.createFile(
      atPath: scratch.file(), contents: nil, attributes: [.posixPermissions: 0o644])
    #expect(isCreated)
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: [])
    #expect(try mode(scratch.file()) == 0o600)
    await store.close()
  }

  @Test(arguments: [(StoreConfiguration.Durability.full, Int64(2)), (.normal, 1)])
  func durabilityIsInEffect(_ durability: StoreConfiguration.Durability, _ synchronous: Int64) throws {
    let scratch = Scratch()
    var configuration = StoreConfiguration(path: scratch.file())
    configuration.durability = durability
    try DatabaseFile.prepare(configuration.path)
    let connection = try ConnectionFactory(configuration: configuration).writer()
    defer { try? connection.close() }
    #expect(try connection.integer("PRAGMA synchronous") == synchronous)
    #expect(try connection.integer("PRAGMA foreign_keys") == 1)
    #expect(try connection.integer("PRAGMA busy_timeout") == 5_000)
    #expect(try connection.integer("PRAGMA journal_size_limit") == 64 << 20)
    var journal = ""
    try connection.forEachRow("PRAGMA journal_mode", binding: []) { row in
      journal = try row.text(0)
      return true
    }
    #expect(journal == "wal")
  }

  @Test func secondStoreIsRefusedWithOwnersPID() async throws {
    try await withStore { store, scratch in
      let error = #expect(throws: StoreError.self) {
        try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
      }
      #expect(error?.code == .inUse)
      #expect(error?.path == scratch.file())
      #expect(error?.message.contains("\(ProcessInfo.processInfo.processIdentifier)") == true)
    }
  }

  @Test func closeReleasesOwnership() async throws {
    let scratch = Scratch()
    for _ in 0..<3 {
      let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
      await store.close()
      await store.close()
    }
  }

  @Test func fileThatIsNotADatabaseIsRefused() throws {
    let scratch = Scratch()
    try scratch.makeDirectory()
    try Data(repeating: 0x41, count: 10_000).write(to: URL(fileURLWithPath: scratch.file()))
    let error = #expect(throws: StoreError.self) {
      try Store(StoreConfiguration(path: scratch.file()), migrations: [])
    }
    #expect(error?.code == .corrupt)
    #expect(error?.description.contains(scratch.file()) == true)
  }

  @Test func foreignDatabaseIsRefusedUnchanged() throws {
    let scratch = Scratch()
    try scratch.makeDirectory()
    let foreign = try DatabaseQueue(path: scratch.file())
    try foreign.write { try $0.execute(sql: "CREATE TABLE theirs (a)") }
    try foreign.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: scratch.file()))
    let error = #expect(throws: StoreError.self) {
      try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    }
    #expect(error?.code == .foreignFile)
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.file())) == before)
    #expect(throws: StoreError.self) {
      try Store.migrationPlan(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    }
  }

  @Test(arguments: [StoreConfiguration.StartupCheck.quick(timeLimitMs: 60_000), .complete])
  func startupCheckFindsDamage(_ check: StoreConfiguration.StartupCheck) async throws {
    let scratch = Scratch()
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    for index in 0..<200 { try await store.insert("row-\(index)", body: String(repeating: "b", count: 1_000)) }
    await store.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: scratch.file()))
    let end = try file.seekToEnd()
    for page in stride(from: UInt64(4_096 * 20), to: end, by: 8_192) {
      try file.seek(toOffset: page)
      try file.write(contentsOf: Data(repeating: 0xAB, count: 600))
    }
    try file.close()
    var configuration = StoreConfiguration(path: scratch.file())
    configuration.startupCheck = check
    let error = #expect(throws: StoreError.self) { try Store(configuration, migrations: rowsSchema) }
    #expect(error?.code == .corrupt)
    #expect(error?.path == scratch.file())
  }

  @Test func startupCheckStopsAtTimeLimit() async throws {
    let scratch = Scratch()
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    _ = try await store.write { transaction in
      for index in 0..<20_000 {
        try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text("row-\(index)"), "b"])
      }
    }
    #expect(store.startupCheck == .passed)
    await store.close()
    var configuration = StoreConfiguration(path: scratch.file())
    configuration.startupCheck = .quick(timeLimitMs: 0)
    let again = try Store(configuration, migrations: rowsSchema)
    #expect(again.startupCheck == .timedOut)
    await again.close()
  }

  @Test func directoriesAndLinksAreRefused() throws {
    let scratch = Scratch()
    try FileManager.default.createDirectory(atPath: scratch.file(), withIntermediateDirectories: true)
    #expect(throws: StoreError.self) { try Store(StoreConfiguration(path: scratch.file()), migrations: []) }
    let link = scratch.file("link.sqlite")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.file("elsewhere.sqlite"))
    #expect(throws: StoreError.self) { try Store(StoreConfiguration(path: link), migrations: []) }
    #expect(!FileManager.default.fileExists(atPath: scratch.file("elsewhere.sqlite")))
  }

  @Test func closeTruncatesWriteAheadLog() async throws {
    let scratch = Scratch()
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    try await store.insert("a")
    #expect(store.metrics().walBytes > 0)
    await store.close()
    #expect(DatabaseFile.sizeBytes(scratch.file() + "-wal") == 0)
  }
}
