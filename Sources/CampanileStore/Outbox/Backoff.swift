/// How long to wait before the next attempt: exponential, capped, with jitter. Pure.
public struct Backoff: Sendable, Hashable {
  public var baseMs: Int64 = 1_000
  public var multiplier: Double = 1.6
  /// Fraction by which a delay varies to both sides, so that many keys that failed together do not return together.
  public var jitter: Double = 0.2
  public var capMs: Int64 = 120_000

  public init() {}

  /// The delay after the `attempts`th failure (1 is the first); `random` is in 0..<1.
  public func delayMs(attempts: Int, random: Double) -> Int64 {
    var delay = Double(max(0, baseMs))
    let cap = Double(max(0, capMs))
    // Bounded: a multiplier of 1 never reaches the cap.
    for _ in 1..<max(2, min(attempts, 1_000)) where attempts > 1 && delay < cap { delay *= max(1, multiplier) }
    let varied = min(delay, cap) * (1 + jitter * (2 * random - 1))
    return varied.isFinite ? Int64(max(0, min(varied, Double(Int64.max / 2)))) : max(0, capMs)
  }
}
