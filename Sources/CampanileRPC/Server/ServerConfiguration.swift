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
  /// The TLS configuration; plain TCP if `nil`.
  public var tls: ServerTLSContext?
  public var logger: Logger

  public init(host: String = "127.0.0.1", port: Int = 0, logger: Logger = Logger(label: "campanile.rpc.server")) {
    self.host = host
    self.port = port
    self.logger = logger
  }
}

/// The server's certificate, and the authorities of client certificates.
public struct ServerTLS: Sendable, Hashable {
  /// The server's certificate chain in PEM, leaf first.
  public var certificateChainFile: String
  /// The unencrypted private key in PEM.
  public var privateKeyFile: String
  /// Certificate authorities in PEM. If set, a peer must present a certificate that one of them signed.
  public var clientCertificateAuthoritiesFile: String?
  /// The revocation lists of those authorities in PEM. If set, a certificate is also refused if its authority has no
  /// current list.
  public var clientRevocationListFile: String?

  public init(
    certificateChainFile: String, privateKeyFile: String, clientCertificateAuthoritiesFile: String? = nil,
    clientRevocationListFile: String? = nil
  ) {
    self.certificateChainFile = certificateChainFile
    self.privateKeyFile = privateKeyFile
    self.clientCertificateAuthoritiesFile = clientCertificateAuthoritiesFile
    self.clientRevocationListFile = clientRevocationListFile
  }
}
