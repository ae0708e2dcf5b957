import Synchronization

/// The devices with an open watch in this process, which need no push.
final class AwakeDevices: Sendable {
  private struct Key: Hashable {
    var user: String
    var device: String
  }

  private let counts = Mutex<[Key: Int]>([:])

  func contains(_ device: String, user: String) -> Bool {
    counts.withLock { $0[Key(user: user, device: device)] != nil }
  }

  /// Counts the device as awake while `body` runs. An empty id is no device.
  func during<T>(_ device: String, user: String, _ body: () async throws -> T) async rethrows -> T {
    guard !device.isEmpty else { return try await body() }
    let key = Key(user: user, device: device)
    counts.withLock { $0[key, default: 0] += 1 }
    defer {
      counts.withLock { counts in
        let count = (counts[key] ?? 1) - 1
        counts[key] = count > 0 ? count : nil
      }
    }
    return try await body()
  }
}
