import Synchronization
import Testing

@testable import CampanileRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Collects written lines.
final class Collector: LogSink {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  var text: String { all.joined() }

  func write(_ line: [UInt8]) { add(String(decoding: line, as: UTF8.self)) }
  func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// A temporary folder for one test, removed at its end.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("runtime-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String, _ content: String, mode: Int = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(content.utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }
}

/// Waits for a condition that another task establishes. Fails the test after about ten seconds.
func eventually(_ what: Comment, _ condition: @Sendable () async -> Bool) async throws {
  for _ in 0..<2000 {
    if await condition() { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record(what)
}
