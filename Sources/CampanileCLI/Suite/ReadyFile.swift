internal import Foundation

/// What a process of the suite writes once it listens.
enum ReadyFile {
  /// How often the file is looked for.
  static let pollMs = 10

  /// Waits for the file at `path` and answers the ports in it. Throws `CancellationError` when the task is cancelled.
  static func wait(_ path: String) async throws -> MemberPorts {
    while true {
      if let data = FileManager.default.contents(atPath: path), let ports = ports(in: data) { return ports }
      try await Task.sleep(for: .milliseconds(pollMs))
    }
  }

  /// The ports in `data`; `nil` when it is something else.
  static func ports(in data: Data) -> MemberPorts? { try? JSONDecoder().decode(MemberPorts.self, from: data) }
}
