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
  static let corsOrigins = "cors-origins"
  static let httpMaxConnections = "http-max-connections"
  static let httpMaxBodyBytes = "http-max-body-bytes"
  static let dialects = "dialects"
  static let insecureCookies = "insecure-cookies"
  static let firebaseApp = "firebase-app"
  static let firebaseDates = "firebase-dates"

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
      .list(
        corsOrigins, default: [], maximumCount: 64,
        help: "origins whose pages may call over HTTP, such as https://app.example; * for all"),
      .int(httpMaxConnections, default: 20_000, in: 1...1_000_000, help: "HTTP connections open at once"),
      .int(
        httpMaxBodyBytes, default: HTTPConfiguration().bodyBytesMax, in: 1024...(64 << 20),
        help: "longest HTTP body, in bytes; max-frame-bytes bounds it too"),
      .list(
        dialects, default: [], maximumCount: 16,
        help: "apps whose own HTTP calls are served too: \(Dialect.allCases.map(\.rawValue).joined(separator: ", "))"),
      .bool(
        insecureCookies, default: false,
        help: "let sessions' cookies travel without HTTPS, for loopback"),
      .string(firebaseApp, help: "bundle id of the app whose Firebase callables are served"),
      .choice(
        firebaseDates, of: ["foundation", "verbatim"], default: "foundation",
        help: "dates in what that app's widget is pushed: seconds since 2001, or ISO 8601"),
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

  /// How HTTP is served. A body must fit into a frame with what an envelope adds.
  static func http(_ settings: Settings) throws -> HTTPConfiguration {
    var configuration = HTTPConfiguration()
    configuration.crossOrigin.origins = try settings.list(corsOrigins)
    configuration.connectionsMax = try settings.int(httpMaxConnections)
    configuration.dialects = Set(
      try settings.list(dialects).map { name in
        guard let dialect = Dialect(rawValue: name) else {
          throw RPCError.invalidField(dialects, "there is no dialect \(name)", reason: "CONFIGURATION_INVALID")
        }
        return dialect
      })
    configuration.areCookiesSecure = try !settings.bool(insecureCookies)
    configuration.firebase.app = try settings.optionalString(firebaseApp) ?? ""
    configuration.firebase.writesFoundationDates = try settings.string(firebaseDates) == "foundation"
    guard !configuration.dialects.contains(.firebase) || !configuration.firebase.app.isEmpty else {
      throw RPCError.invalidField(firebaseApp, "the dialect firebase needs it", reason: "CONFIGURATION_INVALID")
    }
    let frameBytesMax = try settings.int(CommonSettings.maxFrameBytes)
    configuration.bodyBytesMax = min(try settings.int(httpMaxBodyBytes), frameBytesMax - min(65_536, frameBytesMax / 4))
    return configuration
  }
}
