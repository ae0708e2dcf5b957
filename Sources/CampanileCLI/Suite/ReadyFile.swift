internal import Foundation

/// The file that a process of the suite writes once it listens.
enum ReadyFile {
  /// Polling interval in milliseconds.
  static let pollMs = 10

  /// Waits for the file at `path` and returns its ports.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  static func wait(_ path: String) async throws -> MemberPorts {
    while true {
      if let data = FileManager.default.contents(atPath: path), let ports = ports(in: data) { return ports }
      try await Task.sleep(for: .milliseconds(pollMs))
    }
  }

  /// Decodes the ports, or returns nil if `data` is not a complete ready file.
  static func ports(in data: Data) -> MemberPorts? { try? JSONDecoder().decode(MemberPorts.self, from: data) }
}
