/// The remaining rate-limit quota of a caller, as a gateway counts it.
public protocol CallQuota: AnyObject, Sendable {
  /// Returns the current quota; `nil` if nothing is limited.
  ///
  /// - Parameter nowNs: The time of the monotonic clock.
  func status(nowNs: Int64) -> QuotaStatus?
}

/// The values of the `RateLimit-*` headers (draft-ietf-httpapi-ratelimit-headers).
public struct QuotaStatus: Sendable, Hashable {
  /// The burst size: the number of calls that are accepted at once after an idle period.
  public var limit: Int
  /// The number of calls that would be accepted now.
  public var remaining: Int
  /// The time until `remaining` equals `limit`.
  public var reset: Duration

  public init(limit: Int, remaining: Int, reset: Duration) {
    self.limit = limit
    self.remaining = remaining
    self.reset = reset
  }
}
