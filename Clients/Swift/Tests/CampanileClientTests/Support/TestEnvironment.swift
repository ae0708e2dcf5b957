import Foundation

@testable import CampanileClient

/// A clock that tests advance. Short sleeps return at once and advance it; long ones, such as deadlines, wait.
final class TestClock: Sendable {
  private struct State {
    var nowMs: Int64 = 1_000
    var requestedMs: [Int64] = []
    var ids = 0
  }

  private let state = Locked(State())
  private let parksFromMs: Int64

  init(parksFromMs: Int64 = 1_000_000) { self.parksFromMs = parksFromMs }

  /// The sleeps that returned.
  var sleptMs: [Int64] { state.withLock { $0.requestedMs } }
  var nowMs: Int64 { state.withLock { $0.nowMs } }

  func advance(ms: Int64) { state.withLock { $0.nowMs += ms } }

  func environment(random: Double = 0.5) -> ClientEnvironment {
    ClientEnvironment(
      nowMs: { self.nowMs }, wallMs: { self.nowMs },
      sleepMs: { delayMs in
        if delayMs >= self.parksFromMs {
          try await Task.sleep(for: .seconds(600))
        }
        try Task.checkCancellation()
        self.state.withLock { state in
          state.nowMs += delayMs
          state.requestedMs.append(delayMs)
        }
      },
      random: { random },
      newRequestID: {
        self.state.withLock { state in
          state.ids += 1
          return "id-\(state.ids)"
        }
      })
  }
}

/// A folder that is removed with its owner.
final class TestFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("campanile-client-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// Waits for a condition, far longer than it needs.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
  for _ in 0..<6_000 {
    if try await condition() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  throw RPCError(.deadlineExceeded, "not within a minute: \(what)")
}
