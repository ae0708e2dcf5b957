import CampanileRPC

/// How the gateway serves HTTP/1.1.
public struct HTTPConfiguration: Sendable, Hashable {
  public var crossOrigin = CrossOriginPolicy()
  /// Whose word counts about where a request comes from.
  public var trustedProxies = TrustedProxies()
  /// The apps whose own paths and words are served beside the suite's.
  public var dialects: Set<Dialect> = []
  /// Whether sessions' cookies are for encrypted connections alone, as they must be wherever anybody else can listen.
  public var areCookiesSecure = true
  /// Which app the Firebase callables are for.
  public var firebase = FirebaseSettings(app: "")
  /// The longest body, after it is decompressed. Longer: 413 `BODY_TOO_LARGE`, told before the body is read where its length is
  /// declared.
  public var bodyBytesMax = 4 * 1024 * 1024 - 65_536
  /// Bytes of bodies that are being read, of all connections of an event loop. Beyond it: 503 `GATEWAY_OVERLOADED`.
  public var readingBytesMax = 256 * 1024 * 1024
  /// The headers of a request together. Longer: 431.
  public var headerBytesMax = 16_384
  public var headerCountMax = 100
  /// Connections open at once; more wait in the system's backlog.
  public var connectionsMax = 20_000
  /// From the first byte of a request to the last of its headers. Longer: 408.
  public var headerTimeoutMs: Int64 = 10_000
  /// From a request's headers to the end of its body; of an asset's content, for each 64 KiB of it. Longer: 408.
  public var bodyTimeoutMs: Int64 = 30_000
  /// From the end of an asset's content to the service's having it on its disk. Longer: 504.
  public var uploadFinishTimeoutMs: Int64 = 120_000
  /// Without a request. Longer: the connection is closed.
  public var idleTimeoutMs: Int64 = 60_000
  /// How long a caller may leave what was sent unread. Longer: the connection is closed.
  public var unreadTimeoutMs: Int64 = 30_000
  /// Bytes of a stream that may wait for a caller to read them. More: the stream ends with RESOURCE_EXHAUSTED `SLOW_CONSUMER`.
  public var unreadBytesMax = 8 * 1024 * 1024
  /// Between the signs of life of an event stream.
  public var pingMs: Int64 = 15_000
  /// How long the headers of an event stream wait for its first event, so that a refusal has a status of its own.
  public var openingMs: Int64 = 250
  /// Responses at least this long are compressed where the caller takes gzip or deflate.
  public var compressionBytesMin = 1024

  public init() {}
}

/// An app whose own HTTP face the gateway can serve.
public enum Dialect: String, Sendable, Hashable, CaseIterable {
  case kilwinning, zentik, firebase
}

/// A whole answer of the gateway's own, such as `/metrics`.
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
