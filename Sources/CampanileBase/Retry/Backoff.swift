/// An exponential backoff with a cap and jitter. Has no state.
public struct Backoff: Sendable, Hashable {
  /// The delay after the first failure.
  public var initialDelay: Duration
  /// The factor by which each further delay grows; at least 1.
  public var multiplier: Double
  /// Fraction, 0 to 1, by which a delay varies in both directions, so that callers that failed together do not retry
  /// together.
  public var jitter: Double
  /// The longest delay, before its jitter.
  public var delayMax: Duration

  /// The defaults are those of gRPC for connections.
  public init(
    initialDelay: Duration = .seconds(1), multiplier: Double = 1.6, jitter: Double = 0.2,
    delayMax: Duration = .seconds(120)
  ) {
    self.initialDelay = initialDelay
    self.multiplier = multiplier
    self.jitter = jitter
    self.delayMax = delayMax
  }

  /// Returns the delay after `failures` consecutive failures.
  ///
  /// - Parameters:
  ///   - failures: Counted from 1.
  ///   - random: Between 0 and 1; 0.5 leaves the delay without jitter.
  /// - Returns: A delay from 0 to `delayMax` plus its jitter, in whole milliseconds.
  public func delay(failures: Int, random: Double) -> Duration {
    .milliseconds(delayMs(failures: failures, random: random))
  }

  /// Returns the delay after `failures` consecutive failures in milliseconds; see `delay(failures:random:)`.
  package func delayMs(failures: Int, random: Double) -> Int64 {
    let maxMs = delayMax.wholeMilliseconds
    var delay = Double(max(0, initialDelay.wholeMilliseconds))
    let cap = Double(max(0, maxMs))
    // The loop is bounded because a multiplier of 1 never reaches the cap.
    for _ in 1..<min(max(failures, 1), 1_001) where delay < cap { delay *= max(1, multiplier) }
    let part = min(max(jitter, 0), 1) * (2 * min(max(random, 0), 1) - 1)
    let varied = min(delay, cap) * (1 + part)
    return varied.isFinite ? Int64(max(0, min(varied, Double(Int64.max / 2)))) : max(0, maxMs)
  }
}
