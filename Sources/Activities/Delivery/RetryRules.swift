import APNs
import CampanileBase
import CampanileStore

/// Apple's rules for the next step after an attempt to send a push ("Handling notification responses from APNs"). Pure.
enum RetryRules {
  enum Decision: Sendable, Hashable {
    /// APNs accepted the push.
    case accepted
    /// APNs no longer accepts the token: ends the push and retires the token.
    case retireToken(APNsReason, rejectedAtMs: Int64?)
    /// A retry cannot succeed: makes the push a dead letter.
    case giveUp(APNsReason)
    /// Retries after a pause; the attempt counts.
    case retry(afterMs: Int64, reason: String)
    /// Retries once with a new provider token.
    case renewToken
    /// Retries as soon as the route has capacity; the attempt does not count.
    case putBack(reason: String)
  }

  /// Returns the decision after one attempt.
  ///
  /// - Parameters:
  ///   - attempts: Attempts that counted, without this one.
  ///   - isRenewed: Whether the push was already retried with a new provider token.
  ///   - random: A number in 0..<1.
  static func decide(
    _ outcome: PushOutcome, attempts: Int, isRenewed: Bool, attemptsMax: Int, backoff: Backoff, random: Double
  ) -> Decision {
    switch outcome {
    case .unprocessed(let why): return .putBack(reason: why)
    case .lost(let why):
      let delayMs = backoff.delayMs(failures: attempts + 1, random: random)
      return retry(attempts, attemptsMax, afterMs: delayMs, APNsReason(text: "ConnectionLost", status: 0), why)
    case .answered(let answer):
      if answer.status == 200 { return .accepted }
      let reason = APNsReason(
        text: answer.reason.isEmpty ? "Status\(answer.status)" : answer.reason, status: answer.status)
      if reason.retiresToken { return .retireToken(reason, rejectedAtMs: answer.timestampMs) }
      if reason == .expiredProviderToken { return isRenewed ? .giveUp(reason) : .renewToken }
      // TooManyProviderTokenUpdates counts as one of the other 4xx.
      guard answer.status >= 500 || reason == .tooManyRequests else { return .giveUp(reason) }
      let delayMs = backoff.delayMs(failures: attempts + 1, random: random)
      return retry(
        attempts, attemptsMax, afterMs: max(delayMs, min(answer.retryAfterMs ?? 0, retryAfterMsMax)), reason,
        reason.text)
    }
  }

  /// Maximum pause that a `retry-after` header can request.
  static let retryAfterMsMax: Int64 = 3_600_000

  /// Returns whether the response concerns the signing key, and therefore every push of its route.
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
