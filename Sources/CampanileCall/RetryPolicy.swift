package import CampanileBase

/// The rules by which a failed call is sent again.
///
/// Only UNAVAILABLE is retried. A call that no handler has seen (`processed: false`) may always be retried. A call that
/// may have run is retried only if its method's proto declares `IDEMPOTENT` or `NO_SIDE_EFFECTS`, and while the budget
/// lasts.
public struct RetryPolicy: Sendable, Hashable {
  /// The maximum number of attempts, including the first, 1 to 10.
  public var attemptsMax = 4
  public var initialBackoff = Duration.milliseconds(50)
  public var multiplier = 2.0
  public var jitter = 0.2
  public var backoffMax = Duration.seconds(5)
  /// The budget's size. A failure of a call that may have run takes one token, a success returns `tokenRatio`. Such
  /// calls are repeated while more than half of the tokens are left (gRPC's retry throttling, proposal A6).
  public var tokensMax = 10.0
  public var tokenRatio = 0.1

  public init() {}

  /// Failures that the client itself caused: another attempt would meet the same one.
  private static let localReasons: Set<String> = [
    LocalFailure.connectFailed, LocalFailure.connectTimeout, LocalFailure.clientClosed, LocalFailure.queueFull,
  ]

  /// Returns the milliseconds before the next attempt, or `nil` if the call has failed permanently.
  ///
  /// - Parameters:
  ///   - attempt: The number of the attempt that failed, counted from 1.
  ///   - attemptsMax: The limit of the call's options, if they have one.
  ///   - allowsRetry: Whether the method may be repeated after a handler has seen the call.
  ///   - remainingMs: The time until the call's deadline; `nil` without one.
  ///   - random: A uniformly distributed number between 0 and 1.
  package func delayMs(
    after error: RPCError, attempt: Int, attemptsMax: Int?, allowsRetry: Bool, remainingMs: Int64?,
    budget: inout RetryBudget, random: Double
  ) -> Int64? {
    guard error.code == .unavailable, !Self.localReasons.contains(error.reason) else { return nil }
    if error.processed { budget.failed() }
    guard attempt < min(max(attemptsMax ?? self.attemptsMax, 1), 10) else { return nil }
    if error.processed {
      guard allowsRetry, budget.allowsRetry else { return nil }
    }
    var delay = backoffMs(retry: attempt, random: random)
    // The first repetition of an unseen call need not wait: the connection was at fault, not the load.
    if !error.processed && attempt == 1 { delay = 0 }
    delay = max(delay, error.retryAfterMs ?? 0)
    if let remainingMs, delay >= remainingMs { return nil }
    return delay
  }

  private func backoffMs(retry: Int, random: Double) -> Int64 {
    Backoff(initialDelay: initialBackoff, multiplier: multiplier, jitter: jitter, delayMax: backoffMax)
      .delayMs(failures: retry, random: random)
  }
}

/// The token bucket that keeps repetitions from multiplying the load on a failing server. A client has one per server.
public struct RetryBudget: Sendable {
  @usableFromInline let tokensMax: Double
  @usableFromInline let ratio: Double
  @usableFromInline package internal(set) var tokens: Double

  /// A full budget.
  public init(_ policy: RetryPolicy) {
    tokensMax = max(policy.tokensMax, 0)
    ratio = max(policy.tokenRatio, 0)
    tokens = tokensMax
  }

  /// Whether a call that may have run may be repeated.
  public var allowsRetry: Bool { tokens > tokensMax / 2 }
  /// Takes a token for a failed call that may have run.
  mutating func failed() { tokens = max(0, tokens - 1) }
  /// Returns a part of a token for a call that succeeded.
  @inlinable public mutating func succeeded() { tokens = min(tokensMax, tokens + ratio) }
}
