/// The retries of a failed action: six attempts over about an hour.
enum ActionRetryPolicy {
  static let attemptsMax = 6
  /// The delay between the first two attempts. Each further delay is three times as long: 0.5, 1.5, 4.5, 13.5 and 40.5
  /// minutes.
  private static let delayMs: Int64 = 30_000
  private static let factor: Int64 = 3
  /// The maximum Retry-After. A run whose server requests a longer delay has failed.
  static let retryAfterMaxMs: Int64 = 3_600_000

  /// Returns the time of the next attempt, or nil if the result is final or no attempt is left.
  ///
  /// The delay varies randomly by up to a fifth in either direction. A server's Retry-After (RFC 9110, section 10.2.3)
  /// can only increase the delay.
  ///
  /// - Parameter attemptCount: The number of attempts made, including the one with this result.
  static func nextAttemptMs(after result: HTTPActionResult, attemptCount: Int, nowMs: Int64, random: UInt64) -> Int64? {
    guard result.isRetryable, (1..<attemptsMax).contains(attemptCount) else { return nil }
    var delay = delayMs
    for _ in 1..<attemptCount { delay *= factor }
    let spread = delay / 5
    delay += Int64(random % UInt64(2 * spread + 1)) - spread
    if let retryAfterMs = result.retryAfterMs {
      guard retryAfterMs <= retryAfterMaxMs else { return nil }
      delay = max(delay, retryAfterMs)
    }
    return nowMs + delay
  }

  /// The age up to which a run is retried while the sender is busy. It leaves time for the last attempt, which takes
  /// place after more than an hour, or later if servers request it.
  static let busyAgeMaxMs: Int64 = 3 * 3_600_000

  /// Returns the time for retrying a request that was not sent because the sender was busy, or nil if the run is too
  /// old. Such a request does not count as an attempt.
  static func nextAttemptMs(afterBusyAtMs nowMs: Int64, createdMs: Int64, random: UInt64) -> Int64? {
    nowMs - createdMs < busyAgeMaxMs ? nowMs + delayMs + Int64(random % UInt64(delayMs)) : nil
  }
}
