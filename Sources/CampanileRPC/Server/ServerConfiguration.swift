public import Logging

/// How a server listens and what it allows.
public struct ServerConfiguration: Sendable {
  /// A name or an address; `127.0.0.1` by default.
  public var host: String
  /// 0 lets the system pick one.
  public var port: Int
  public var limits = WireLimits()
  /// Open connections. One more is answered RESOURCE_EXHAUSTED `TOO_MANY_CONNECTIONS` and closed.
  public var connectionsMax = 20_000
  /// What `rpc.hello` tells of the server; letters, digits, `.`, `/` and `-`.
  public var agent = "campanile"
  /// Plain TCP when `nil`.
  public var tls: ServerTLSContext?
  public var logger: Logger

  public init(host: String = "127.0.0.1", port: Int = 0, logger: Logger = Logger(label: "campanile.rpc.server")) {
    self.host = host
    self.port = port
    self.logger = logger
  }
}

/// The server's certificate, and whose certificates it wants to see.
public struct ServerTLS: Sendable, Hashable {
  /// PEM, the server's own certificate first.
  public var certificateChainFile: String
  /// PEM, not encrypted.
  public var privateKeyFile: String
  /// PEM. When set, a peer must present a certificate that one of these signed.
  public var clientCertificateAuthoritiesFile: String?

  public init(certificateChainFile: String, privateKeyFile: String, clientCertificateAuthoritiesFile: String? = nil) {
    self.certificateChainFile = certificateChainFile
    self.privateKeyFile = privateKeyFile
    self.clientCertificateAuthoritiesFile = clientCertificateAuthoritiesFile
  }
}
