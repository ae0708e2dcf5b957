import CampanilePostgreSQL
import CampanileStore
import Foundation
import PostgreSQLServer
import Testing

@Suite("Servers whose disk is full", .timeLimit(.minutes(3)))
struct FullDiskTests {
  /// A tablespace on a file system of its own, which only the superuser can mount.
  private func mount(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try run("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", path)
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

  @Test(
    "exactly the acknowledged writes exist, and later ones succeed after space was freed",
    .enabled(if: getuid() == 0 && FileManager.default.fileExists(atPath: "/proc/mounts"), "it mounts a file system"))
  func fullTablespace() async throws {
    let cluster = try PostgreSQLCluster.shared()
    let place = "\(cluster.folder)/small"
    try mount(place)
    defer { try? run("umount", "-l", place) }
    try cluster.query("CREATE TABLESPACE small LOCATION '\(place)'")
    let database = try cluster.createDatabase("TABLESPACE small")
    let (store, _) = try openStore(cluster.address(database))
    let ballast = "\(place)/ballast"
    try Data(count: 4 << 20).write(to: URL(fileURLWithPath: ballast))
    var acknowledged: [String] = []
    var refusal: StoreError?
    for number in 0..<5_000 where refusal == nil {
      // Random, because the server compresses texts.
      let body = (0..<250).map { _ in String(UInt64.random(in: 0 ... .max), radix: 16) }.joined()
      let ids = ["\(number)-left", "\(number)-right"]
      refusal = await storeError {
        try await store.write { transaction in
          for id in ids {
            try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(id), .text(body)])
          }
        }
      }
      if refusal == nil { acknowledged += ids }
    }
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
}
