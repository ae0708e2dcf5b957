package import CampanileRPC
public import Gateway

/// Configuration of the gateway's HTTP/1.1 frontend.
public struct HTTPConfiguration: Sendable, Hashable {
  public var crossOrigin = CrossOriginPolicy()
  /// Hosts that the `Host` header may name; nil allows any. Other hosts get 403 `HOST_NOT_ALLOWED`.
  package var hostGuard: HostGuard?
  /// Whether to serve the files of the TypeScript client under `/sdk/`.
  public var servesClient = true
  /// Proxies that are trusted to report a request's client address.
  public var trustedProxies = TrustedProxies()
  /// Whether the port itself uses TLS. If so, browsers are instructed to use only HTTPS for a year (RFC 6797).
  public var isEncrypted = false
  /// Maximum body length after decompression. Longer bodies get 413 `BODY_TOO_LARGE`, before the body is read if its
  /// length is declared.
  public var bodyBytesMax = 4 * 1024 * 1024 - 65_536
  /// Maximum body length after decompression for callers without a credential or with a member's session, which the
  /// gateway cannot verify. Longer bodies get 413 `BODY_TOO_LARGE`.
  public var strangerBodyBytesMax = 64 * 1024
  /// Maximum total length of a request's headers. Longer headers get 431.
  public var headerBytesMax = 16_384
  public var headerCountMax = 100
  /// Maximum number of open connections. An additional one replaces the unauthenticated connection that has been idle
  /// longest. If there is none, it gets 503 `TOO_MANY_CONNECTIONS`.
  public var connectionsMax = 20_000
  /// Maximum number of connections per address group, trusted proxies excepted. An additional one gets 503
  /// `TOO_MANY_CONNECTIONS` and is closed.
  public var connectionsPerAddressMax = 1_000
  /// Timeout from the first byte of a request to the end of its headers. Slower requests get 408.
  public var headerTimeoutMs: Int64 = 5_000
  /// Timeout from a request's headers to the end of its body, or for each 64 KiB of an asset's content. Slower requests
  /// get 408.
  public var bodyTimeoutMs: Int64 = 30_000
  /// Body timeout for callers without a credential, and for discarding the body of a refused request.
  public var strangerBodyTimeoutMs: Int64 = 5_000
  /// Timeout from the end of an asset's content until the service has stored it on disk. Slower uploads get 504.
  public var uploadFinishTimeoutMs: Int64 = 120_000
  /// Timeout of a connection without a request. The connection is then closed.
  public var idleTimeoutMs: Int64 = 60_000
  /// Timeout of a caller that reads nothing of what was sent. The connection is then closed.
  public var unreadTimeoutMs: Int64 = 30_000
  /// Maximum number of unread bytes of a stream. Beyond it, the stream ends with RESOURCE_EXHAUSTED `SLOW_CONSUMER`.
  public var unreadBytesMax = 8 * 1024 * 1024
  /// Interval between pings on an event stream.
  public var pingMs: Int64 = 15_000
  /// Delay of an event stream's headers while there is no first event, so that an immediate error can set the status.
  public var openingMs: Int64 = 250
  /// Minimum length of responses that are compressed, if the caller accepts gzip or deflate.
  public var compressionBytesMin = 1024

  public init() {}
}

/// A complete response that the gateway itself produces, such as `/healthz`.
public struct HTTPAnswer: Sendable, Hashable {
  public var status: Int
  public var contentType: String
  public var body: [UInt8]

  public init(status: Int, contentType: String, body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }
}
