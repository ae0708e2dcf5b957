/// The limits of callers and backends; a nil rate is unlimited. Trusted connections have neither rates nor
/// shares, but the limits of backends apply to them, too.
public struct GatewayLimits: Sendable, Hashable {
  /// Calls of one principal, with any of its credentials.
  public var principalRate = RateLimit(perSecond: 50_000, burst: 100_000)
  /// All calls from one address, or from one IPv6 /64 network.
  public var addressRate = RateLimit(perSecond: 100_000, burst: 200_000)
  /// Anonymous calls from one address; separately, rejected credentials.
  public var anonymousRate = RateLimit(perSecond: 50, burst: 200)
  /// All calls of a method, by the method's path.
  public var methodRates: [String: RateLimit] = [:]
  /// Concurrent calls of one principal, without streams.
  public var principalCallsMax = 512
  /// Open streams of one principal.
  public var principalStreamsMax = 6_000
  /// Concurrent calls to one backend on one event loop, without streams. Bulk calls and new streams are refused from
  /// half of it on.
  public var backendCallsMax = 4_000
  /// Open streams of one backend on one event loop.
  public var backendStreamsMax = 6_000
  /// Principals and addresses that are counted individually. Beyond it, newcomers share one count.
  public var sharesMax = 65_536
  /// Bulk calls and new streams are refused while an event loop is repeatedly this late.
  public var loopLateMs: Int64 = 250

  public init() {}
}
