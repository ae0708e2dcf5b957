/// How long a client waits between attempts to connect.
public struct BackoffPolicy: Sendable, Hashable {
  public var initialMs: Int64 = 1_000
  public var multiplier = 1.6
  /// Each wait is made up to this part longer or shorter, so that many clients do not come back together.
  public var jitter = 0.2
  public var maxMs: Int64 = 120_000

  public init() {}

  /// The wait after `failures` failures in a row (1, 2, …). `random` is 0 up to 1.
  func delayMs(failures: Int, random: Double) -> Int64 {
    var delay = Double(max(initialMs, 1))
    // Sixty-four steps reach any cap; a multiplier near 1 must not make the walk long.
    for _ in 0..<min(max(failures - 1, 0), 64) { delay = min(delay * multiplier, Double(maxMs)) }
    delay = min(delay, Double(maxMs))
    let part = min(max(jitter, 0), 1) * (2 * min(max(random, 0), 1) - 1)
    return max(1, Int64(delay * (1 + part)))
  }
}

/// Counts the failures of one connection's attempts.
struct Backoff {
  let policy: BackoffPolicy
  private(set) var failures = 0

  init(_ policy: BackoffPolicy) { self.policy = policy }

  /// An attempt has failed. Answers how long to wait before the next one.
  mutating func failed(random: Double) -> Int64 {
    failures = min(failures + 1, 1_000)
    return policy.delayMs(failures: failures, random: random)
  }

  mutating func reset() { failures = 0 }
}
