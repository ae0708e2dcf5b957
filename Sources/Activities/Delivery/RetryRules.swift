import APNs
import CampanileStore

/// What is done after an attempt to send a push: Apple's rules as a function. Pure.
enum RetryRules {
  enum Decision: Sendable, Hashable {
    /// APNs has taken it.
    case accepted
    /// APNs does not know the token any more: the push is over, and the token is retired.
    case retireToken(APNsReason, rejectedAtMs: Int64?)
    /// Repeating it would change nothing: a dead letter.
    case giveUp(APNsReason)
    /// Again after a pause; it counts as an attempt.
    case retry(afterMs: Int64, reason: String)
    /// Again with another provider token, once.
    case renewToken
    /// Again as soon as the route takes it; it does not count.
    case putBack(reason: String)
  }

  /// - Parameters:
  ///   - attempts: attempts that counted, without this one.
  ///   - isRenewed: whether it was tried with a renewed provider token before.
  ///   - random: in 0..<1.
  static func decide(
    _ outcome: PushOutcome, attempts: Int, isRenewed: Bool, attemptsMax: Int, backoff: Backoff, random: Double
  ) -> Decision {
    switch outcome {
    case .unprocessed(let why): return .putBack(reason: why)
    case .lost(let why):
      let delayMs = backoff.delayMs(attempts: attempts + 1, random: random)
      return retry(attempts, attemptsMax, afterMs: delayMs, APNsReason(text: "ConnectionLost", status: 0), why)
    case .answered(let answer):
      if answer.status == 200 { return .accepted }
      let reason = APNsReason(
        text: answer.reason.isEmpty ? "Status\(answer.status)" : answer.reason, status: answer.status)
      if reason.retiresToken { return .retireToken(reason, rejectedAtMs: answer.timestampMs) }
      if reason == .expiredProviderToken { return isRenewed ? .giveUp(reason) : .renewToken }
      // TooManyProviderTokenUpdates is one of the other 4xx.
      guard answer.status >= 500 || reason == .tooManyRequests else { return .giveUp(reason) }
      let delayMs = backoff.delayMs(attempts: attempts + 1, random: random)
      return retry(
        attempts, attemptsMax, afterMs: max(delayMs, min(answer.retryAfterMs ?? 0, retryAfterMsMax)), reason,
        reason.text)
    }
  }

  /// The longest pause that a peer may ask for.
  static let retryAfterMsMax: Int64 = 3_600_000

  /// Whether the answer is about the signing key, and so about every push of its route.
  static func blamesKey(_ answer: PushAnswer) -> Bool {
    guard answer.status == 403 else { return false }
    return [
      .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken,
      .badEnvironmentKeyInToken, .badCertificate, .badCertificateEnvironment,
    ].contains(APNsReason(text: answer.reason, status: 403))
  }

  private static func retry(
    _ attempts: Int, _ attemptsMax: Int, afterMs: Int64, _ reason: APNsReason, _ text: String
  ) -> Decision {
    attempts + 1 >= attemptsMax ? .giveUp(reason) : .retry(afterMs: afterMs, reason: text)
  }
}
