/// The settings that every executable of the suite shares.
public enum CommonSettings {
  public static let host = "host"
  public static let port = "port"
  public static let httpEnabled = "http-enabled"
  public static let httpPort = "http-port"
  public static let dataDir = "data-dir"
  public static let logLevel = "log-level"
  public static let logFormat = "log-format"
  public static let durability = "durability"
  public static let internalToken = "internal-token"
  public static let tlsCertFile = "tls-cert-file"
  public static let tlsKeyFile = "tls-key-file"
  public static let tlsClientCAFile = "tls-client-ca-file"
  public static let insecurePlaintext = "insecure-plaintext"
  public static let maxFrameBytes = "max-frame-bytes"
  public static let maxConnections = "max-connections"
  public static let maxConcurrentCalls = "max-concurrent-calls"
  public static let drainTimeoutMs = "drain-timeout-ms"
  public static let eventLoopThreads = "event-loop-threads"
  public static let readyFile = "ready-file"
  public static let readyFd = "ready-fd"
  public static let planMigrations = "plan-migrations"

  /// All of them.
  ///
  /// - Parameter defaultPort: the RPC port that the executable listens on unless told otherwise.
  public static func all(defaultPort: Int) -> [Setting] {
    listening(defaultPort: defaultPort) + [
      .path(dataDir, default: ".campanile", help: "folder of databases and blobs"),
      .choice(durability, of: ["full", "normal"], default: "full", help: "what an acknowledged write survives"),
      .choice(
        logLevel, of: ["trace", "debug", "info", "notice", "warning", "error", "critical"], default: "info",
        help: "least severe level that is logged"),
      .choice(
        logFormat, of: ["auto", "json", "pretty"], default: "auto", help: "form of log lines; auto is pretty on a tty"),
      .int(drainTimeoutMs, default: 10_000, in: 0...600_000, help: "how long open calls may finish at shutdown"),
      .int(eventLoopThreads, default: 1, in: 1...64, help: "threads that serve connections"),
      .path(readyFile, help: "file that is written as JSON once everything listens"),
      .bool(planMigrations, default: false, help: "say which steps a start would change the schema by, and end"),
      .int(readyFd, in: 3...1024, help: "inherited descriptor that the same JSON is written to"),
    ] + TracingSettings.all
  }

  private static func listening(defaultPort: Int) -> [Setting] {
    [
      .string(host, default: "127.0.0.1", help: "address to listen on"),
      .int(port, default: defaultPort, in: 0...65_535, help: "RPC port; 0 lets the system pick one"),
      .bool(httpEnabled, default: true, help: "serve /metrics, /healthz and /readyz"),
      .int(httpPort, default: 0, in: 0...65_535, help: "port of /metrics; 0 is the RPC port + 100"),
      .secret(internalToken, help: "token that callers show to be believed about principals"),
      .path(tlsCertFile, help: "certificate chain in PEM; turns TLS on"),
      .path(tlsKeyFile, isPrivate: true, help: "private key in PEM"),
      .path(tlsClientCAFile, help: "CA in PEM that client certificates must come from; turns mutual TLS on"),
      .bool(insecurePlaintext, help: "listen beyond this machine without TLS, where something else keeps others out"),
      .int(maxFrameBytes, default: 4 << 20, in: 1024...(64 << 20), help: "longest frame accepted, in bytes"),
      .int(maxConnections, default: 20_000, in: 1...1_000_000, help: "connections open at once"),
      .int(
        maxConcurrentCalls, default: 100, in: 1...100_000, help: "handlers executing at once for one connection"),
    ]
  }
}
