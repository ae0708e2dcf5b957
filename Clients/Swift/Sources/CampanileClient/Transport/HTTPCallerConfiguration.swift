public import CampanileCall

/// The settings and limits of an `HTTPCaller`.
public struct HTTPCallerConfiguration: Sendable, Hashable {
  /// The time limit of a unary call without one in its options, and of the wait for a stream's first bytes.
  public var timeoutMs: Int64 = 30_000
  /// The maximum size of a response, and of each message of a stream, decompressed.
  public var responseBytesMax = 16 * 1024 * 1024
  /// The maximum size of a stream's messages that were received but not read. Beyond it the stream ends after them
  /// with RESOURCE_EXHAUSTED `SLOW_CONSUMER`.
  public var unreadBytesMax = 8 * 1024 * 1024
  /// The maximum number of connections to the gateway. Over HTTP/1.1, each stream occupies one.
  public var connectionsMax = 32
  public var retryPolicy = RetryPolicy()
  /// Whether credentials may be sent to other machines without TLS.
  public var allowsCleartext = false

  public init() {}
}
