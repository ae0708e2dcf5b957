import CampanileBase

/// Counts the consecutive failures of one connection's attempts.
struct FailedAttempts {
  let backoff: Backoff
  private(set) var count = 0

  init(_ backoff: Backoff) { self.backoff = backoff }

  /// Records a failed attempt and returns the delay in milliseconds before the next one, at least 1.
  mutating func failed(random: Double) -> Int64 {
    count = min(count + 1, 1_000)
    return max(1, backoff.delayMs(failures: count, random: random))
  }

  mutating func reset() { count = 0 }
}
