import CampanileRPC
import CampanileRuntime
import Gateway

/// The settings of `campanile-gateway` beside those that every executable has.
enum GatewaySettings {
  static let backends = "backends"
  static let bootstrapAdminKeyFile = "bootstrap-admin-key-file"
  static let connectTimeoutMs = "connect-timeout-ms"
  static let callTimeoutMs = "call-timeout-ms"
  static let readyNeedsBackends = "ready-needs-backends"

  static let defaultPort = 7400

  static let all: [Setting] =
    [
      .list(
        backends,
        default: [
          "notifications=127.0.0.1:7401", "activities=127.0.0.1:7402", "attendance=127.0.0.1:7404",
        ], maximumCount: 1024,
        help: "services to forward to, NAME=HOST:PORT each; a NAME that comes again adds an address"),
      .path(bootstrapAdminKeyFile, help: "file that holds an admin key; made with mode 0600 where it is missing"),
      .int(
        connectTimeoutMs, default: 2_000, in: 10...60_000,
        help: "how long connecting to a service may take, and a call wait for it"),
      .int(
        callTimeoutMs, default: 30_000, in: 1...600_000, help: "what a unary call gets that asks for no time of its own"
      ),
      .bool(
        readyNeedsBackends, default: true, help: "answer /readyz only while every service has an address that serves"),
    ] + ServiceLinkSettings.all

  /// Reads the configuration. Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` for backends that cannot be routed to, and
  /// `ConfigurationError` for settings that the executable does not declare.
  static func configuration(_ settings: Settings) throws -> GatewayConfiguration {
    var configuration = GatewayConfiguration(
      backends: try BackendConfiguration.parse(settings.list(backends)), methods: SuiteMethods.all,
      internalToken: try settings.secret(CommonSettings.internalToken)?.reveal())
    configuration.connectTimeoutMs = Int64(try settings.int(connectTimeoutMs))
    configuration.timeoutMsDefault = Int64(try settings.int(callTimeoutMs))
    configuration.frameBytesMax = try settings.int(CommonSettings.maxFrameBytes)
    configuration.tls = try ServiceLinkSettings.tls(settings)
    return configuration
  }
}
