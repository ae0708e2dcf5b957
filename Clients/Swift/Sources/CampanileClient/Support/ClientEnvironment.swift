import Foundation

/// The time and the randomness of a client; tests replace them.
public struct ClientEnvironment: Sendable {
  /// Returns a monotonic time in milliseconds, which also advances while the device sleeps.
  public var nowMs: @Sendable () -> Int64
  /// Returns the milliseconds since 1970, which the user may change.
  public var wallMs: @Sendable () -> Int64
  /// Waits for a number of milliseconds. Throws `CancellationError` if the task is cancelled.
  public var sleepMs: @Sendable (Int64) async throws -> Void
  /// Returns a uniformly distributed number between 0 and 1.
  public var random: @Sendable () -> Double
  /// Returns a new unique request id of at most 64 characters.
  public var newRequestID: @Sendable () -> String

  public init(
    nowMs: @escaping @Sendable () -> Int64, wallMs: @escaping @Sendable () -> Int64,
    sleepMs: @escaping @Sendable (Int64) async throws -> Void, random: @escaping @Sendable () -> Double,
    newRequestID: @escaping @Sendable () -> String
  ) {
    self.nowMs = nowMs
    self.wallMs = wallMs
    self.sleepMs = sleepMs
    self.random = random
    self.newRequestID = newRequestID
  }

  /// The system's clocks and random numbers.
  public static let system: ClientEnvironment = {
    let start = ContinuousClock.now
    return ClientEnvironment(
      nowMs: { start.duration(to: .now).milliseconds },
      wallMs: { Int64(Date().timeIntervalSince1970 * 1000) },
      sleepMs: { try await Task.sleep(for: .milliseconds($0)) },
      random: { .random(in: 0...1) },
      newRequestID: { UUID().uuidString.lowercased() })
  }()
}

extension Duration {
  /// The whole milliseconds.
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
