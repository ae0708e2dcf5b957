/// How a client reaches its server, and its limits.
public struct ClientConfiguration: Sendable {
  /// Where a server listens.
  public struct Address: Sendable, Hashable, CustomStringConvertible {
    /// A name, which is resolved at every attempt to connect, or an IP address.
    public var host: String
    public var port: Int

    public init(host: String, port: Int) {
      self.host = host
      self.port = port
    }

    /// Reads `HOST:PORT`, an IPv6 address in brackets; nil for other text.
    public init?(_ text: some StringProtocol) {
      guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
        (1...65_535).contains(port)
      else { return nil }
      var host = text[..<colon]
      let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
      if isBracketed { host = host.dropFirst().dropLast() }
      guard !host.isEmpty, isBracketed || !host.contains(":") else { return nil }
      self.init(host: String(host), port: port)
    }

    /// Whether `host` is this machine by its form alone: 127.0.0.0/8, ::1 or `localhost`. No name is resolved.
    package static func isLoopback(_ host: String) -> Bool {
      if host == "localhost" || host == "::1" || host == "[::1]" { return true }
      let parts = host.split(separator: ".", omittingEmptySubsequences: false)
      return parts.count == 4 && parts[0] == "127"
        && parts.allSatisfy { UInt8($0) != nil && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  /// Tried in turn; the client waits only when it has failed with all of them. At least one.
  public var addresses: [Address]
  /// Presented in `rpc.hello`. A server that refuses it fails the waiting calls with its error.
  public var token: String?
  /// Names this program in `rpc.hello`.
  public var agent = "campanile"
  /// Plain TCP when `nil`.
  public var tls: ClientTLS?
  /// Connections that each event loop keeps, 1 to 64.
  public var connectionsPerLoop = 1
  /// How long resolving, connecting, the TLS handshake and `rpc.hello` may take together.
  public var connectTimeoutMs: Int64 = 5_000
  public var backoff = BackoffPolicy()
  public var keepAlive = KeepAlivePolicy()
  public var retry = RetryPolicy()
  /// What a unary call gets that asks for no time of its own.
  public var timeoutMsDefault: Int64 = 30_000
  /// How long a call without a deadline may wait for a connection. Longer: UNAVAILABLE `CONNECT_TIMEOUT`, not processed.
  public var waitMsMax: Int64 = 30_000
  /// Open calls of one connection, unless the server allows less. More wait.
  public var openCallsMax = 10_000
  /// Calls of one event loop that wait for a connection or for an open call to end. More: RESOURCE_EXHAUSTED `QUEUE_FULL`, not processed.
  public var waitingCallsMax = 10_000
  /// Bytes of the waiting calls of one event loop, and bytes that a connection's peer has not taken yet. More:
  /// RESOURCE_EXHAUSTED `QUEUE_FULL`, not processed.
  public var bufferedBytesMax = 64 * 1024 * 1024
  /// Cancels that one connection sends in 30 s; more are sent later. A server closes a connection at 200 control frames, at
  /// 20,000 one that was opened with the internal token: raise it there to 15,000.
  public var cancelsMax = 150
  /// The longest frame that a server may send. A longer one closes the connection.
  public var frameBytesMax = 4 * 1024 * 1024

  public init(addresses: [Address], token: String? = nil, tls: ClientTLS? = nil) {
    self.addresses = addresses
    self.token = token
    self.tls = tls
  }

  public init(host: String, port: Int, token: String? = nil, tls: ClientTLS? = nil) {
    self.init(addresses: [Address(host: host, port: port)], token: token, tls: tls)
  }

  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` for what cannot work.
  func check() throws(RPCError) {
    func fail(_ what: String) -> RPCError {
      RPCError(.invalidArgument, "client configuration: \(what)", reason: "CONFIGURATION_INVALID", processed: false)
    }
    if addresses.isEmpty { throw fail("an address is needed") }
    if let bad = addresses.first(where: { $0.host.isEmpty || !(1...65_535).contains($0.port) }) {
      throw fail("\(bad) is no address")
    }
    guard (1...64).contains(connectionsPerLoop) else { throw fail("connectionsPerLoop must be 1 to 64") }
    guard connectTimeoutMs > 0, timeoutMsDefault > 0, waitMsMax > 0 else { throw fail("timeouts must be positive") }
    guard keepAlive.intervalMs > 0, keepAlive.timeoutMs > 0 else { throw fail("keepAlive must be positive") }
    guard openCallsMax > 0, waitingCallsMax >= 0, bufferedBytesMax > 0, cancelsMax > 0,
      (64...1 << 30).contains(frameBytesMax)
    else {
      throw fail("limits must be positive and frameBytesMax at most 1 GiB")
    }
  }
}
