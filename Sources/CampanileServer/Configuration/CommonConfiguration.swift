import CampanileRPC

/// The settings that all services have. `dataFolder` is for those with data.
public enum CommonConfiguration {
  public static let host = "host"
  public static let port = "port"
  public static let httpEnabled = "http-enabled"
  public static let httpPort = "http-port"
  public static let dataDir = "data-dir"
  public static let logLevel = "log-level"
  public static let logFormat = "log-format"
  public static let internalToken = "internal-token"
  public static let tlsCertFile = "tls-cert-file"
  public static let tlsKeyFile = "tls-key-file"
  public static let tlsClientCAFile = "tls-client-ca-file"
  public static let tlsClientCRLFile = "tls-client-crl-file"
  public static let insecurePlaintext = "insecure-plaintext"
  public static let maxFrameBytes = "max-frame-bytes"
  public static let maxConnections = "max-connections"
  public static let maxConnectionsPerAddress = "max-connections-per-address"
  public static let maxConcurrentCalls = "max-concurrent-calls"
  public static let drainTimeoutMs = "drain-timeout-ms"
  public static let eventLoopThreads = "event-loop-threads"
  public static let readyFile = "ready-file"
  public static let readyFd = "ready-fd"

  /// Returns all common settings.
  ///
  /// - Parameter defaultPort: The default RPC port of the executable.
  public static func all(defaultPort: Int) -> [Setting] {
    listening(defaultPort: defaultPort) + [
      .choice(
        logLevel, of: ["trace", "debug", "info", "notice", "warning", "error", "critical"], default: "info",
        help: "minimum log level"),
      .choice(
        logFormat, of: ["auto", "json", "pretty"], default: "auto",
        help: "format of log lines; auto is pretty on a terminal and json otherwise"),
      .int(drainTimeoutMs, default: 10_000, in: 0...600_000, help: "time for open calls to finish at shutdown"),
      .int(eventLoopThreads, default: 1, in: 1...64, help: "number of threads that serve connections"),
      .path(readyFile, help: "file for the ports, as JSON, written once everything listens"),
      .int(readyFd, in: 3...1024, help: "inherited file descriptor for the same JSON"),
    ] + MemoryConfiguration.all + TracingConfiguration.all
  }

  /// The setting `data-dir`. A service that declares it exports the free space of the folder.
  public static let dataFolder = Setting.path(dataDir, default: ".campanile", help: "folder for databases and blobs")

  private static func listening(defaultPort: Int) -> [Setting] {
    [
      .string(host, default: "127.0.0.1", help: "address to listen on"),
      .int(port, default: defaultPort, in: 0...65_535, help: "RPC port; 0 lets the system choose one"),
      .bool(httpEnabled, default: true, help: "serve /metrics, /healthz and /readyz"),
      .int(httpPort, default: 0, in: 0...65_535, help: "port of /metrics; 0 is the RPC port + 100"),
      .secret(internalToken, help: "token that callers need to act as a principal"),
      .path(tlsCertFile, help: "certificate chain (PEM); enables TLS"),
      .path(tlsKeyFile, isPrivate: true, help: "private key (PEM)"),
      .path(tlsClientCAFile, help: "CA certificates (PEM) for client certificates; enables mutual TLS"),
      .path(
        tlsClientCRLFile,
        help: "revocation lists (PEM) of that CA; client certificates without a current list are rejected as well"),
      .bool(insecurePlaintext, help: "allow plaintext beyond loopback, for a private network or behind a TLS proxy"),
      .int(
        maxFrameBytes, default: 4 << 20, in: 1024...WireLimits.frameBytesCeiling,
        help: "maximum size of a frame in bytes"),
      .int(maxConnections, default: 20_000, in: 1...1_000_000, help: "maximum number of open connections"),
      .int(
        maxConnectionsPerAddress, default: 1_000, in: 1...1_000_000,
        help: "maximum connections per port of an IPv4 address or IPv6 /64, except trusted links and proxies"),
      .int(
        maxConcurrentCalls, default: 100, in: 1...100_000,
        help: "maximum number of concurrently executing handlers per connection"),
    ]
  }
}
