/// What a caller may still do, as a gateway counts it.
public protocol CallQuota: AnyObject, Sendable {
  /// - Parameter nowNs: of the monotonic clock. `nil` where nothing is limited.
  func facts(nowNs: Int64) -> QuotaFacts?
}

/// The numbers of `RateLimit-*` headers (draft-ietf-httpapi-ratelimit-headers).
public struct QuotaFacts: Sendable, Hashable {
  /// Calls at once, when none were made for a while.
  public var limit: Int
  /// Calls that would be taken now.
  public var remaining: Int
  /// Until `remaining` is `limit`.
  public var resetMs: Int64

  public init(limit: Int, remaining: Int, resetMs: Int64) {
    self.limit = limit
    self.remaining = remaining
    self.resetMs = resetMs
  }
}
