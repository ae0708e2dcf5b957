/// When a failed action is tried again: six attempts over about an hour.
enum RetryPolicy {
  static let attemptsMax = 6
  /// Between the first two attempts; each further one waits three times as long: 0.5, 1.5, 4.5, 13.5 and 40.5 minutes.
  private static let delayMs: Int64 = 30_000
  private static let factor: Int64 = 3
  /// A server that wants to be left alone for longer is given up.
  static let retryAfterMaxMs: Int64 = 3_600_000

  /// The time of the next attempt, nil when there is none: the result is final, or the attempts are used up.
  ///
  /// `attemptCount` counts the attempts made, the one with this result included. `random` spreads the attempts of many
  /// actions over a fifth of the delay to either side. A server's Retry-After (RFC 9110, section 10.2.3) makes the delay
  /// longer, never shorter.
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
}
