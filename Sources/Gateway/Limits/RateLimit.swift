/// A rate limit: `perSecond` on average, and `burst` at once after a pause.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible {
  public static let perSecondMax = 10_000_000
  public static let burstMax = 100_000_000

  /// 1 to 10,000,000.
  public let perSecond: Int
  /// 1 to 100,000,000.
  public let burst: Int

  /// Returns `nil` for numbers out of range.
  public init?(perSecond: Int, burst: Int) {
    guard (1...Self.perSecondMax).contains(perSecond), (1...Self.burstMax).contains(burst) else { return nil }
    self.perSecond = perSecond
    self.burst = burst
  }

  /// Parses `PER_SECOND` or `PER_SECOND:BURST`, for example `50:200`. The default burst is twice the rate. `nil` for
  /// malformed text.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let perSecond = Int(first), (1...Self.perSecondMax).contains(perSecond) else {
      return nil
    }
    guard let burst = parts.count > 1 ? Int(parts[1]) : perSecond * 2 else { return nil }
    self.init(perSecond: perSecond, burst: burst)
  }

  public var description: String { "\(perSecond):\(burst)" }
}

/// A token bucket stored as one number: the time at which it would be full again (the generic cell rate algorithm,
/// ITU-T I.371).
///
/// Stateless: callers pass in the state and the time. Times are nanoseconds of a monotonic clock.
struct TokenBucket: Sendable, Hashable {
  /// The time that one token takes to refill.
  let intervalNs: Int64
  /// The time that all tokens take to refill.
  let depthNs: Int64

  /// - Parameter sharers: The number of gateways among which the rate and the burst are divided. Each has at least one
  ///   token.
  init(_ limit: RateLimit, sharers: Int = 1) {
    let intervalNs = 1_000_000_000 * Int64(sharers) / Int64(limit.perSecond)
    self.init(intervalNs: intervalNs, depthNs: intervalNs * Int64(max(1, limit.burst / sharers)))
  }

  init(intervalNs: Int64, depthNs: Int64) {
    self.intervalNs = intervalNs
    self.depthNs = depthNs
  }

  /// Maximum number of tokens.
  var burst: Int { Int(depthNs / intervalNs) }

  /// The state of an unused bucket.
  static let full = Int64.min

  /// Takes a token.
  ///
  /// - Returns: The new state and `waitNs` 0; without a token, the unchanged state and the time until there is one.
  @inline(__always)
  func take(fullAtNs: Int64, nowNs: Int64) -> (fullAtNs: Int64, waitNs: Int64) {
    let next = max(fullAtNs, nowNs) + intervalNs
    let beyondNs = next - nowNs - depthNs
    return beyondNs > 0 ? (fullAtNs, beyondNs) : (next, 0)
  }

  /// Takes a token, even if there is none.
  ///
  /// - Returns: The new state, and as `owedNs` the time until the owed token is refilled, at most `owedMaxNs`.
  func charge(fullAtNs: Int64, nowNs: Int64, owedMaxNs: Int64) -> (fullAtNs: Int64, owedNs: Int64) {
    let next = min(max(fullAtNs, nowNs) + intervalNs, nowNs + depthNs + owedMaxNs)
    return (next, max(0, next - nowNs - depthNs))
  }

  func remaining(fullAtNs: Int64, nowNs: Int64) -> Int {
    guard fullAtNs > nowNs else { return burst }
    return Int(max(0, depthNs - (fullAtNs - nowNs)) / intervalNs)
  }

  func resetMs(fullAtNs: Int64, nowNs: Int64) -> Int64 {
    fullAtNs > nowNs ? (fullAtNs - nowNs + 999_999) / 1_000_000 : 0
  }
}
