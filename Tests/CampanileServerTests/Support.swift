import Synchronization
import TestSupport
import Testing

@testable import CampanileServer

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

extension TemporaryFolder {
  /// Writes a file and returns its path.
  func file(_ name: String, _ content: String, mode: Int = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(content.utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }
}
