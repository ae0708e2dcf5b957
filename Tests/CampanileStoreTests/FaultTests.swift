import CampanileStore
import Foundation
import ServiceTesting
import Testing

/// Failures of the disk and of the operating system.
@Suite(.serialized, .onSQLite) struct FaultTests {
  /// Number of kills; the environment can raise it.
  private static var rounds: Int {
    ProcessInfo.processInfo.environment["CAMPANILE_CRASH_ROUNDS"].flatMap { Int($0) } ?? 5
  }

  private func crasher(_ arguments: String...) throws -> (process: Process, output: FileHandle, input: Pipe) {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    let process = Process()
    process.executableURL = tests.appendingPathComponent("store-crasher")
    process.arguments = arguments
    let output = Pipe()
    let input = Pipe()
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    return (process, output.fileHandleForReading, input)
  }

  private func lines(_ data: Data) -> [String] {
    // The kill may cut the last line, so only complete lines count.
    var lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    lines.removeLast()
    return lines.map(String.init)
  }

  @Test func acknowledgedWritesSurviveKill() async throws {
    let scratch = Scratch()
    var acknowledged: [String] = []
    for round in 0..<Self.rounds {
      let (process, output, _) = try crasher("write", scratch.file(), "64", "\(round)")
      var data = Data()
      while data.count < 20_000 + round * 500, case let chunk = output.availableData, !chunk.isEmpty {
        data.append(chunk)
      }
      kill(process.processIdentifier, SIGKILL)
      data.append(output.readDataToEndOfFile())
      process.waitUntilExit()
      let acks = lines(data).filter { $0.hasPrefix("ack ") }.map { String($0.dropFirst(4)) }
      #expect(acks.count > 100)
      acknowledged += acks

      let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
      let found = try await store.ids()
      #expect(Set(acknowledged).subtracting(found).isEmpty)
      #expect(Set(found).count == found.count)
      // In progress at the kill: 64 clients with one write each.
      #expect(found.count - acknowledged.count <= 64 * (round + 1))
      await store.close()
    }
  }

  @Test func secondProcessIsRefusedUntilOwnerExits() async throws {
    let scratch = Scratch()
    let (process, output, _) = try crasher("hold", scratch.file())
    #expect(String(decoding: output.availableData, as: UTF8.self) == "ready\n")
    let error = #expect(throws: StoreError.self) {
      try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    }
    #expect(error?.code == .inUse)
    #expect(error?.message.contains("\(process.processIdentifier)") == true)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    await store.close()
  }

  @Test func ioErrorFailsWritesAndReplacesConnection() async throws {
    let scratch = Scratch()
    let (process, output, _) = try crasher("starve", scratch.file())
    let report = lines(output.readDataToEndOfFile())
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(report)")
    let acknowledged = report.filter { $0.hasPrefix("ack ") }.map { String($0.dropFirst(4)) }
    let failed = report.filter { $0.hasPrefix("fail ") }
    #expect(!failed.isEmpty)
    #expect(failed.allSatisfy { $0.hasSuffix("unavailable") || $0.hasSuffix("diskFull") }, "\(failed)")
    #expect(acknowledged.contains("after"))
    #expect(report.contains { $0.hasPrefix("reopens ") && $0 != "reopens 0" })
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    #expect(try await store.ids() == acknowledged.sorted())
    await store.close()
  }

  @Test func readsWorkWhenDiskIsNotWritable() async throws {
    let scratch = Scratch()
    let (process, output, _) = try crasher("blind", scratch.file())
    let report = lines(output.readDataToEndOfFile())
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(report)")
    #expect(report.filter { $0.hasPrefix("fail ") }.count == 3, "\(report)")
    #expect(report.last == "read 1", "\(report)")
  }

  @Test func sizeLimitFailsLikeFullDisk() async throws {
    try await withStore(configure: { $0.sizeBytesMax = 400_000 }) { store, _ in
      try await fillUntilFull(store)
      // Freed space can be reused.
      try await store.write { try $0.execute("DELETE FROM rows WHERE id >= ''") }
      try await store.insert("again")
      #expect(try await store.ids() == ["again"])
    }
  }

  @Test(.enabled(if: getuid() == 0 && FileManager.default.fileExists(atPath: "/proc/mounts")))
  func fullDiskKeepsNoPartialWrites() async throws {
    let scratch = Scratch()
    try scratch.makeDirectory()
    let mounted = try run("/bin/mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", scratch.path)
    guard mounted == 0 else { return }
    defer { _ = try? run("/bin/umount", "-l", scratch.path) }
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    try await fillUntilFull(store)
    await store.close()
    #expect(try run("/bin/mount", "-o", "remount,size=8m", scratch.path) == 0)
    let again = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    try await again.insert("again")
    #expect(try await again.ids().contains("again"))
    await again.close()
  }

  /// Writes pairs of rows until the disk is full, and checks that exactly the acknowledged rows exist.
  private func fillUntilFull(_ store: Store) async throws {
    var acknowledged: [String] = []
    let body = String(repeating: "b", count: 9_000)
    for index in 0..<500 {
      let (left, right) = ("\(index)-left", "\(index)-right")
      do {
        _ = try await store.write { transaction in
          try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(left), .text(body)])
          try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(right), .text(body)])
        }
        acknowledged += [left, right]
      } catch let error as StoreError {
        #expect(error.code == .diskFull)
        break
      }
    }
    #expect(acknowledged.count > 4 && acknowledged.count < 1_000)
    #expect(try await store.ids() == acknowledged.sorted())
  }

  private func run(_ path: String, _ arguments: String...) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
