public import Logging

/// A server's address, limits and credentials.
public struct ServerConfiguration: Sendable {
  /// A host name or IP address; `127.0.0.1` by default.
  public var host: String
  /// The port; 0 lets the system choose one.
  public var port: Int
  public var limits = WireLimits()
  /// The maximum number of open connections. For one more, the stranger that has been idle for longest is evicted.
  /// Without a stranger, the new connection gets RESOURCE_EXHAUSTED `TOO_MANY_CONNECTIONS` and is closed.
  public var connectionsMax = 20_000
  /// The maximum number of open connections per address group, trusted ones not counted. A further one is refused in
  /// the same way.
  public var connectionsPerAddressMax = 1_000
  /// Returns whether an address belongs to a trusted proxy, whose connections count in total only.
  public var isTrustedProxy: @Sendable (_ host: String) -> Bool = { _ in false }
  /// The process-wide budget for bytes of requests that are not served yet. Beyond it: RESOURCE_EXHAUSTED
  /// `WAITING_BYTES_EXCEEDED`, then the connection closes.
  public var waitingBytes = WaitingBytesBudget.standard()
  /// The process-wide budget for bytes of responses that callers do not read. Beyond it: RESOURCE_EXHAUSTED
  /// `SLOW_CONSUMER`.
  public var unreadBytes = WaitingBytesBudget.standard()
  /// Returns the time in milliseconds since 1970. If set, a connection ends no later than its client's certificate.
  public var nowMs: (@Sendable () -> Int64)?
  /// The server's name in the response to `rpc.hello`; letters, digits, `.`, `/` and `-`.
  public var agent = "campanile"
  #if TLS
    /// The TLS configuration; plain TCP if `nil`.
    public var tls: ServerTLSContext?
  #endif
  public var logger: Logger

  public init(host: String = "127.0.0.1", port: Int = 0, logger: Logger = Logger(label: "campanile.rpc.server")) {
    self.host = host
    self.port = port
    self.logger = logger
  }
}
