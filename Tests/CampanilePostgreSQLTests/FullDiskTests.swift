import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
import Testing

@Suite("Servers whose disk is full", .timeLimit(.minutes(3)))
struct FullDiskTests {
  /// Mounts a file system of its own, which only the superuser can.
  private func mount(_ path: String, sizeMiB: Int) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try run("mount", "-t", "tmpfs", "-o", "size=\(sizeMiB)m", "tmpfs", path)
    try run("chown", "postgres", path)
  }

  private func run(_ command: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(command)")
  }

  /// Writes two rows at a time until the store refuses them. Returns what was acknowledged, what was refused, and why.
  private func fill(_ store: Store) async -> (acknowledged: [String], refused: [String], StoreError?) {
    var acknowledged: [String] = []
    for number in 0..<20_000 {
      // Random, because the server compresses texts.
      let body = (0..<250).map { _ in String(UInt64.random(in: 0 ... .max), radix: 16) }.joined()
      let ids = ["\(number)-left", "\(number)-right"]
      let refusal = await storeError {
        try await store.write { transaction in
          for id in ids {
            try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(id), .text(body)])
          }
        }
      }
      if let refusal { return (acknowledged, ids, refusal) }
      acknowledged += ids
    }
    return (acknowledged, [], nil)
  }

  @Test("exactly the acknowledged writes exist, and later ones succeed after space was freed", .mountsFileSystems)
  func fullTablespace() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let place = "\(cluster.folder)/small"
    try mount(place, sizeMiB: 24)
    defer { try? run("umount", "-l", place) }
    try cluster.query("CREATE TABLESPACE small LOCATION '\(place)'")
    let database = try cluster.createDatabase("TABLESPACE small")
    let (store, _) = try openStore(cluster.address(database))
    let ballast = "\(place)/ballast"
    try Data(count: 4 << 20).write(to: URL(fileURLWithPath: ballast))
    let (acknowledged, _, refusal) = await fill(store)
    #expect(refusal?.code == .diskFull && refusal?.engineCode == "53100")
    #expect(acknowledged.count > 100)
    #expect(try await store.ids() == acknowledged.sorted())
    try FileManager.default.removeItem(atPath: ballast)
    try await store.insert("later")
    #expect(try await store.ids() == (acknowledged + ["later"]).sorted())
    await store.close()
    try cluster.query("DROP DATABASE \(database)")
    try cluster.query("DROP TABLESPACE small")
  }

  /// The server ends itself, because it cannot even record that a transaction failed.
  @Test("a full disk of the log loses nothing acknowledged, and writes succeed after a restart", .mountsFileSystems)
  func fullLog() async throws {
    let cluster = try PostgreSQLCluster(
      settings: ["max_wal_size = 1GB", "checkpoint_timeout = 1h", "restart_after_crash = off"])
    let database = try cluster.createDatabase()
    let (log, place) = ("\(cluster.data)/pg_wal", "\(cluster.folder)/small")
    try cluster.kill()
    try mount(place, sizeMiB: 48)
    defer {
      try? cluster.kill()
      try? run("umount", "-l", place)
    }
    try run("cp", "-a", log, place)
    try FileManager.default.removeItem(atPath: log)
    try FileManager.default.createSymbolicLink(atPath: log, withDestinationPath: "\(place)/pg_wal")
    try cluster.start()
    let (store, _) = try openStore(cluster.address(database, throughSocket: true))
    let (acknowledged, refused, refusal) = await fill(store)
    try #require(refusal?.code == .unavailable && acknowledged.count > 100)
    while FileManager.default.fileExists(atPath: "\(cluster.data)/postmaster.pid") {
      try await Task.sleep(for: .milliseconds(10))
    }
    try run("mount", "-o", "remount,size=200m", place)
    try cluster.start()
    // The outcome of the last write is unknown to its caller.
    let found = try await store.ids()
    #expect(found == acknowledged.sorted() || found == (acknowledged + refused).sorted())
    try await store.insert("later")
    #expect(try await store.ids() == (found + ["later"]).sorted())
    await store.close()
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs a test that mounts a file system only as the superuser of Linux.
  fileprivate static var mountsFileSystems: Self {
    .enabled(
      if: getuid() == 0 && FileManager.default.fileExists(atPath: "/proc/mounts"), "it mounts a file system")
  }
}
