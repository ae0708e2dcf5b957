/// When a failed call is sent again.
///
/// Only UNAVAILABLE is retried. A call that no handler saw (`processed: false`) is sent again without more thought; one that
/// may have run only when its method's proto says `IDEMPOTENT` or `NO_SIDE_EFFECTS`, and while the budget lasts.
public struct RetryPolicy: Sendable, Hashable {
  /// How often a call is sent in all, 1 to 10.
  public var attemptsMax = 4
  public var initialBackoffMs: Int64 = 50
  public var multiplier = 2.0
  public var jitter = 0.2
  public var backoffMsMax: Int64 = 5_000
  /// The budget's size. A failure takes one token, a success gives back `tokenRatio`; calls that may have run are repeated
  /// while more than half are left (gRPC's retry throttling, proposal A6).
  public var tokensMax = 10.0
  public var tokenRatio = 0.1

  public init() {}

  /// Failures of the client's own making: sending again would meet the same one.
  private static let localReasons: Set<String> = [
    LocalFailure.connectFailed, LocalFailure.connectTimeout, LocalFailure.clientClosed, LocalFailure.queueFull,
  ]

  /// How long to wait before the next attempt, or `nil` when the call has failed for good. `attempt` counts from 1.
  func delayMs(
    after error: RPCError, attempt: Int, attemptsMax: Int?, allowsRepeat: Bool, remainingMs: Int64?,
    budget: inout RetryBudget, random: Double
  ) -> Int64? {
    guard error.code == .unavailable, !Self.localReasons.contains(error.reason) else { return nil }
    if error.processed { budget.failed() }
    guard attempt < min(max(attemptsMax ?? self.attemptsMax, 1), 10) else { return nil }
    if error.processed {
      guard allowsRepeat, budget.allowsRetry else { return nil }
    }
    var delay = backoffMs(retry: attempt, random: random)
    // The first repetition of a call that nobody saw need not wait: the connection was the fault, not the load.
    if !error.processed && attempt == 1 { delay = 0 }
    delay = max(delay, error.retryAfterMs ?? 0)
    if let remainingMs, delay >= remainingMs { return nil }
    return delay
  }

  private func backoffMs(retry: Int, random: Double) -> Int64 {
    var delay = Double(max(initialBackoffMs, 0))
    for _ in 0..<min(max(retry - 1, 0), 64) { delay = min(delay * multiplier, Double(backoffMsMax)) }
    let part = min(max(jitter, 0), 1) * (2 * min(max(random, 0), 1) - 1)
    return Int64(max(0, min(delay, Double(backoffMsMax)) * (1 + part)))
  }
}

/// Keeps repetitions from multiplying the load on a server that is failing.
struct RetryBudget {
  private let tokensMax: Double
  private let ratio: Double
  private(set) var tokens: Double

  init(_ policy: RetryPolicy) {
    tokensMax = max(policy.tokensMax, 0)
    ratio = max(policy.tokenRatio, 0)
    tokens = tokensMax
  }

  var allowsRetry: Bool { tokens > tokensMax / 2 }
  mutating func failed() { tokens = max(0, tokens - 1) }
  mutating func succeeded() { tokens = min(tokensMax, tokens + ratio) }
}
