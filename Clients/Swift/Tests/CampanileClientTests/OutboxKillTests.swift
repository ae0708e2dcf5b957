#if os(Linux) || os(macOS)
  import Foundation
  import Testing

  @testable import CampanileClient
  import CampanileNotifications

  /// Starts the program `client-process` of this package.
  func clientProcess(_ arguments: String...) throws -> (process: Process, output: FileHandle) {
    let programs = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    let process = Process()
    process.executableURL = programs.appendingPathComponent("client-process")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return (process, output.fileHandleForReading)
  }

  /// Returns the complete lines of an output; a kill may cut the last one.
  func lines(_ data: Data) -> [String] {
    String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
      String.init)
  }

  /// An outbox whose processes are killed while they add and send.
  @Suite(.serialized) struct OutboxKillTests {
    /// The number of kills; the environment can raise it.
    private static var kills: Int {
      ProcessInfo.processInfo.environment["CAMPANILE_KILLS"].flatMap { Int($0) } ?? 25
    }

    @Test func nothingIsLostOrReorderedByKills() async throws {
      let folder = try TestFolder()
      let (path, log) = (folder.path("outbox"), folder.path("log"))
      let acknowledged = try killProcesses("outbox", path, log, bytesMax: 2_000)
      let outbox = Outbox(path: path)
      let left = FakeCaller()
      #expect(try await outbox.sendNow(through: left) == 0)
      #expect(try outbox.refusals().isEmpty)
      let sentBefore = lines((try? Data(contentsOf: URL(fileURLWithPath: log))) ?? Data())
      let sentLast = try left.requests.map { try CreateNotificationRequest(jsonString: $0).notification?.title ?? "" }
      try check(acknowledged: acknowledged, sent: sentBefore + sentLast)
    }

    @Test(.enabled(if: Gateway.isThere)) func theGatewayHasEachCallOfKilledProcessesOnce() async throws {
      let folder = try TestFolder()
      let path = folder.path("outbox")
      let campanile = try Gateway.campanile()
      let created = try await campanile.notifications.service.createBucket(.init(bucket: .init(name: "Kills")))
      let bucketID = try #require(created.bucket?.id)
      let acknowledged = try killProcesses("gateway", path, bucketID, bytesMax: 200)
      let outbox = Outbox(path: path)
      #expect(try await outbox.sendNow(through: campanile.caller) == 0)
      #expect(try outbox.refusals().isEmpty)
      let stored = try await Gateway.titles(bucketID, campanile)
      #expect(Set(stored).count == stored.count)
      try check(acknowledged: acknowledged, sent: stored)
    }

    /// Kills processes while they add and send calls, each after at most 50 + `bytesMax` bytes of output. Returns the
    /// calls that they have reported as durable.
    private func killProcesses(_ mode: String, _ path: String, _ place: String, bytesMax: Int) throws -> [String] {
      var random = SplitMix64(seed: 7)
      var acknowledged: [String] = []
      for round in 0..<Self.kills {
        // Two processes share the file; the first one is killed.
        let other = try clientProcess(mode, path, place, "\(round)b", "5")
        let (process, output) = try clientProcess(mode, path, place, "\(round)a", "100000")
        var data = Data()
        let enoughBytes = 50 + random.below(bytesMax)
        while data.count < enoughBytes, case let chunk = output.availableData, !chunk.isEmpty { data.append(chunk) }
        kill(process.processIdentifier, SIGKILL)
        data.append(output.readDataToEndOfFile())
        process.waitUntilExit()
        acknowledged += lines(data)
        acknowledged += lines(other.output.readDataToEndOfFile())
        other.process.waitUntilExit()
        #expect(other.process.terminationStatus == 0)
      }
      return acknowledged
    }

    /// Checks the texts `OBJECT NUMBER REQUEST_ID` of calls that were stored and sent.
    private func check(acknowledged: [String], sent: [String]) throws {
      #expect(acknowledged.count >= Self.kills)
      #expect(Set(acknowledged).subtracting(sent).isEmpty)
      // A service ignores a repeated request id, so only first occurrences count.
      var seen: Set<String> = []
      let run = sent.filter { seen.insert($0).inserted }
      var last: [String: Int] = [:]
      for text in run {
        let parts = text.split(separator: " ")
        try #require(parts.count == 2)
        let number = try #require(Int(parts[1]))
        #expect(number > last[String(parts[0]), default: -1])
        last[String(parts[0])] = number
      }
    }
  }
#endif
