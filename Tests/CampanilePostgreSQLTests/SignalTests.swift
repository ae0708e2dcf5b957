import CampanileStore
import Foundation
import PostgreSQLServer
import Synchronization
import Testing

@testable import CampanilePostgreSQL

@Suite("Commits of other processes")
struct SignalTests {
  /// The commits of others that a store has heard of.
  private final class Heard: Sendable {
    private let changes = Mutex<[ChangedNames]>([])

    func add(_ change: ChangedNames) { changes.withLock { $0.append(change) } }

    func take() -> [ChangedNames] {
      changes.withLock { changes in
        defer { changes = [] }
        return changes
      }
    }

    /// Waits until a change is heard, and returns all that were heard.
    func next(_ isWanted: (ChangedNames) -> Bool = { _ in true }) async throws -> [ChangedNames] {
      var all: [ChangedNames] = []
      for _ in 0..<1_000 where !all.contains(where: isWanted) {
        all += take()
        try await Task.sleep(for: .milliseconds(10))
      }
      return all
    }
  }

  private func open(_ address: String, changing names: ChangedNames = .all) throws -> (Store, Heard) {
    let heard = Heard()
    let (store, _) = try openStore(address) { configuration in
      configuration.changedNames = { names }
      configuration.foreignObserver = { heard.add($0) }
    }
    return (store, heard)
  }

  /// The number of processes that listen.
  private func listeners(_ cluster: PostgreSQLCluster, _ database: String) throws -> [Int32] {
    try cluster.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = '\(database)' AND application_name LIKE 'campanile\\_%'"
    ).split(separator: "\n").compactMap { Int32($0) }
  }

  private func awaitListeners(_ count: Int, _ cluster: PostgreSQLCluster, _ database: String) async throws {
    while try listeners(cluster, database).count != count { try await Task.sleep(for: .milliseconds(10)) }
  }

  /// Waits until the stores have looked for each other, which they do once a second, also on a busy machine.
  private func awaitLooks() async throws { try await Task.sleep(for: .seconds(3)) }

  @Test("a store hears of the commits of another, and not of its own", .timeLimit(.minutes(1)))
  func heardByOthers() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (first, heardByFirst) = try open(cluster.address(database), changing: .some(["anna", "o'hara"]))
    let (second, heardBySecond) = try open(cluster.address(database))
    // Until now, each may have been alone.
    #expect(try await heardByFirst.next() == [.all])
    #expect(try await heardBySecond.next() == [.all])
    try await first.insert("a")
    #expect(try await heardBySecond.next() == [.some(["anna", "o'hara"])])
    #expect(heardByFirst.take() == [])
    try await second.insert("b")
    #expect(try await heardByFirst.next() == [.all])
    await first.close()
    await second.close()
    try await awaitListeners(0, cluster, database)
  }

  @Test("a store that was alone announces everything to another that appears", .timeLimit(.minutes(1)))
  func appearance() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (first, heardByFirst) = try open(cluster.address(database), changing: .some(["anna"]))
    try await awaitListeners(1, cluster, database)
    try await awaitLooks()
    try await first.insert("a")
    let (second, heardBySecond) = try open(cluster.address(database))
    try await first.insert("b")
    #expect(try await heardBySecond.next { $0 == .all }.contains(.all))
    #expect(try await heardByFirst.next() == [.all])
    await first.close()
    await second.close()
  }

  @Test("after the end of another process, everything may have changed", .timeLimit(.minutes(1)))
  func endOfAnother() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (first, _) = try open(cluster.address(database))
    let (second, heard) = try open(cluster.address(database))
    try await awaitListeners(2, cluster, database)
    try await awaitLooks()
    _ = heard.take()
    await first.close()
    #expect(try await heard.next().contains(.all))
    await second.close()
  }

  @Test(
    "after a lost connection, everything may have changed, and commits are announced again", .timeLimit(.minutes(1)))
  func lostConnection() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    let (first, heardByFirst) = try open(cluster.address(database), changing: .some(["anna"]))
    let (second, heardBySecond) = try open(cluster.address(database))
    try await awaitListeners(2, cluster, database)
    for process in try listeners(cluster, database) { try cluster.query("SELECT pg_terminate_backend(\(process))") }
    #expect(try await heardBySecond.next().contains(.all))
    #expect(try await heardByFirst.next().contains(.all))
    try await awaitListeners(2, cluster, database)
    try await awaitLooks()
    try await first.insert("a")
    #expect(try await heardBySecond.next { $0 == .some(["anna"]) }.contains(.some(["anna"])))
    await first.close()
    await second.close()
  }

  @Test("schemas of one database do not hear each other", .timeLimit(.minutes(1)))
  func schemas() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let database = try cluster.createDatabase()
    try cluster.query("CREATE SCHEMA other", database: database)
    let (first, _) = try open(cluster.address(database), changing: .some(["anna"]))
    let (second, heard) = try open(cluster.address(database) + "?options=-c%20search_path%3Dother")
    let (third, heardInSchema) = try open(cluster.address(database))
    try await awaitListeners(3, cluster, database)
    try await awaitLooks()
    try await first.insert("a")
    #expect(try await heardInSchema.next { $0 == .some(["anna"]) }.contains(.some(["anna"])))
    #expect(!heard.take().contains(.some(["anna"])))
    for store in [first, second, third] { await store.close() }
  }

  @Test("payloads are read as they were written, and those that do not fit name everything")
  func payloads() {
    func read(_ changes: ChangedNames) -> ChangedNames? {
      let payload = Announcement(sender: 7, changes: changes).payload
      #expect(payload.utf8.count <= Announcement.payloadBytesMax)
      return Announcement(payload)?.changes
    }
    #expect(read(.all) == .all)
    #expect(read(.some(["a", "b c", ""])) == .some(["a", "b c", ""]))
    for changes in [["a\nb"], ["*"], ["a\0"], (0..<2_000).map { "user \($0)" }] as [[String]] {
      #expect(read(.some(Set(changes))) == .all)
    }
    for payload in ["", "x\n*", "7", "campanile"] { #expect(Announcement(payload) == nil) }
    var changes = ChangedNames.some(["a"])
    changes.add(.some(["b"]), namesMax: 2)
    #expect(changes == .some(["a", "b"]))
    changes.add(.some(["c"]), namesMax: 2)
    #expect(changes == .all)
  }
}
