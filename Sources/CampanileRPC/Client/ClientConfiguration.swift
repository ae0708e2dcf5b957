public import CampanileBase

/// The addresses of a client's server, its credentials, and the client's limits.
public struct ClientConfiguration: Sendable {
  /// At least one address, used as `balancing` says.
  public var addresses: [HostPort]
  /// The use of several addresses. With `.failover`, the client backs off only after all of them have failed.
  public var balancing = Balancing.failover
  /// The time after which names are resolved again, with `.everyAddress` only.
  public var resolveInterval = Duration.seconds(10)
  /// The token sent in `rpc.hello`. If a server rejects it, the waiting calls fail with the server's error.
  public var token: String?
  /// The suite's internal token, in place of `token`. Over plain TCP it is proved and never sent; a server that does
  /// not know it fails the waiting calls with UNAUTHENTICATED `SERVER_UNPROVEN`. Over TLS it is sent in `rpc.hello`,
  /// because the certificate proves the server's identity.
  public var internalToken: String?
  /// The name of this program in `rpc.hello`.
  public var agent = "campanile"
  #if TLS
    /// The TLS configuration; plain TCP if `nil`.
    public var tls: ClientTLS?
  #endif
  /// The number of connections per event loop, 1 to 64; with `.everyAddress`, to each address.
  public var connectionsPerLoop = 1
  /// The time limit for resolving, connecting, the TLS handshake and `rpc.hello` together.
  public var connectTimeout = Duration.seconds(5)
  public var backoff = Backoff()
  public var keepAlive = KeepAlivePolicy()
  public var retry = RetryPolicy()
  /// The timeout of a unary call that sets none; 30 s by default, in whole milliseconds.
  public var timeoutDefault: Duration {
    get { .milliseconds(timeoutMsDefault) }
    set { timeoutMsDefault = newValue.wholeMilliseconds }
  }
  /// `timeoutDefault` in milliseconds, because every call reads it.
  var timeoutMsDefault: Int64 = 30_000
  /// The time that a call without a deadline may wait for a connection. After it, the call fails with UNAVAILABLE
  /// `CONNECT_TIMEOUT`, not processed.
  public var waitMax = Duration.seconds(30)
  /// The maximum number of open calls per connection, unless the server allows fewer. Further calls wait.
  public var openCallsMax = 10_000
  /// The maximum number of calls per event loop that wait for a connection or for an open call to end. Further calls
  /// fail with RESOURCE_EXHAUSTED `QUEUE_FULL`, not processed.
  public var waitingCallsMax = 10_000
  /// The maximum number of bytes in the waiting calls of one event loop, and of unsent bytes per connection. Further
  /// calls fail with RESOURCE_EXHAUSTED `QUEUE_FULL`, not processed.
  public var bufferedBytesMax = 64 * 1024 * 1024
  /// The maximum length of a frame from the server, 64 KiB to `WireLimits.frameBytesCeiling`. The server is
  /// notified and fails the call instead; a longer frame closes the connection.
  public var frameBytesMax = 4 * 1024 * 1024
  /// The credit with which the server may begin to send a stream, at least `StreamCredit.initial`. A call buffers as
  /// many messages and bytes, and one frame more, until they are read. A higher byte credit speeds up long streams over
  /// a network with a long delay.
  public var streamCredit = StreamCredit.initial

  #if TLS
    public init(addresses: [HostPort], token: String? = nil, tls: ClientTLS? = nil) {
      self.addresses = addresses
      self.token = token
      self.tls = tls
    }

    public init(host: String, port: Int, token: String? = nil, tls: ClientTLS? = nil) {
      self.init(addresses: [HostPort(host: host, port: port)], token: token, tls: tls)
    }

    /// Whether connections use TLS, so that the server is known before a token is sent.
    private var isSecure: Bool { tls != nil }
  #else
    public init(addresses: [HostPort], token: String? = nil) {
      self.addresses = addresses
      self.token = token
    }

    public init(host: String, port: Int, token: String? = nil) {
      self.init(addresses: [HostPort(host: host, port: port)], token: token)
    }

    private var isSecure: Bool { false }
  #endif

  /// The token to send in `rpc.hello`.
  var presentedToken: String? { isSecure ? token ?? internalToken : token }

  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` if a value is missing, malformed or out of range.
  func check() throws(RPCError) {
    func fail(_ what: String) -> RPCError {
      RPCError(.invalidArgument, "client configuration: \(what)", reason: "CONFIGURATION_INVALID", processed: false)
    }
    if addresses.isEmpty { throw fail("at least one address is required") }
    if let bad = addresses.first(where: { $0.host.isEmpty || !(1...65_535).contains($0.port) }) {
      throw fail("\(bad) is not a valid address")
    }
    guard (1...64).contains(connectionsPerLoop) else { throw fail("connectionsPerLoop must be 1 to 64") }
    guard connectTimeout > .zero, timeoutMsDefault > 0, waitMax > .zero else { throw fail("timeouts must be positive") }
    guard resolveInterval > .zero else { throw fail("resolveInterval must be positive") }
    guard keepAlive.interval > .zero, keepAlive.timeout > .zero else { throw fail("keepAlive must be positive") }
    guard openCallsMax > 0, waitingCallsMax >= 0, bufferedBytesMax > 0 else { throw fail("limits must be positive") }
    let frameBytes = WireLimits.clientFrameBytesMin...WireLimits.frameBytesCeiling
    guard frameBytes.contains(frameBytesMax) else {
      throw fail("frameBytesMax must be \(frameBytes.lowerBound) to \(frameBytes.upperBound)")
    }
    let lowest = StreamCredit.initial
    guard streamCredit.raised(to: lowest) == streamCredit else {
      throw fail("streamCredit must be at least \(lowest.messages) messages and \(lowest.bytes) bytes")
    }
  }
}
