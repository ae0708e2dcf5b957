/// What callers may use of the gateway. A missing rate limits nothing; links with the internal token have no rates and no
/// share, but backends are guarded from them too.
public struct LimitPolicy: Sendable, Hashable {
  /// Calls of one principal, with whatever credentials.
  public var principalRate = RateLimit(perSecond: 50_000, burst: 100_000)
  /// All calls from one address; of IPv6 from one /64.
  public var addressRate = RateLimit(perSecond: 100_000, burst: 200_000)
  /// Calls without a credential from one address, and credentials that were refused.
  public var anonymousRate = RateLimit(perSecond: 50, burst: 200)
  /// All calls of a method together, by its path.
  public var methodRates: [String: RateLimit] = [:]
  /// Calls of one principal that are under way, without streams.
  public var principalCallsMax = 512
  /// Open streams of one principal.
  public var principalStreamsMax = 6_000
  /// Calls of one backend that are under way on one event loop, without streams. Bulk calls and new streams are refused from
  /// half of it on.
  public var backendCallsMax = 4_000
  /// Open streams of one backend on one event loop.
  public var backendStreamsMax = 6_000
  /// Principals and addresses that are counted each for itself. Beyond it those that come share one count.
  public var sharesMax = 65_536
  /// Bulk calls and new streams are refused while an event loop is so late, again and again.
  public var loopLateMs: Int64 = 250

  public init() {}
}
