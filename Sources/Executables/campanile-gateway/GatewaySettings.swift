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

  static let principalRate = "principal-rate"
  static let addressRate = "address-rate"
  static let anonymousRate = "anonymous-rate"
  static let methodRates = "method-rates"
  static let principalMaxCalls = "principal-max-calls"
  static let principalMaxStreams = "principal-max-streams"
  static let backendMaxCalls = "backend-max-calls"
  static let backendMaxStreams = "backend-max-streams"
  static let hedgeAfterMs = "hedge-after-ms"
  static let backendResolveMs = "backend-resolve-ms"
  static let maxMemoryBytes = "max-memory-bytes"
  static let trustedProxies = "trusted-proxies"
  static let trustedProxyHeader = "trusted-proxy-header"
  static let jwksFile = "jwt-jwks-file"
  static let jwtIssuer = "jwt-issuer"
  static let jwtAudiences = "jwt-audiences"
  static let jwtAllowAdmin = "jwt-allow-admin"

  static let defaultPort = 7400
  /// A rate that limits nothing.
  private static let off = "off"

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
      .int(
        backendResolveMs, default: 5_000, in: 0...3_600_000,
        help: "how often names of services are resolved, each to all its addresses; 0 for only when connecting"),
      .list(
        trustedProxies, default: [], maximumCount: 64,
        help: "proxies that are believed about callers' addresses, such as 10.0.0.0/8"),
      .choice(
        trustedProxyHeader, of: TrustedProxies.Header.allCases.map(\.rawValue),
        default: TrustedProxies.Header.forwardedFor.rawValue, help: "the header that these proxies write"),
    ] + limits + tokens + ServiceLinkSettings.all + OperatorSettings.all + RedirectSettings.all

  /// What is taken up by a reload. The rest needs a restart.
  static let reloadable: Set<String> = [
    backends, principalRate, addressRate, anonymousRate, methodRates, principalMaxCalls, principalMaxStreams,
    backendMaxCalls, backendMaxStreams, hedgeAfterMs, maxMemoryBytes,
  ]

  private static let limits: [Setting] = {
    let policy = LimitPolicy()
    func rate(_ key: String, _ value: RateLimit?, _ help: String) -> Setting {
      .string(key, default: value?.description ?? off, help: "\(help), PER_SECOND:BURST or off")
    }
    return [
      rate(principalRate, policy.principalRate, "calls of one principal"),
      rate(addressRate, policy.addressRate, "calls from one address"),
      rate(anonymousRate, policy.anonymousRate, "calls without a credential from one address"),
      .list(
        methodRates, default: [], maximumCount: 256,
        help: "calls of a method by all callers together, SERVICE/METHOD=PER_SECOND:BURST"),
      .int(
        principalMaxCalls, default: policy.principalCallsMax, in: 1...1_000_000,
        help: "calls of one principal under way, without streams"),
      .int(
        principalMaxStreams, default: policy.principalStreamsMax, in: 1...1_000_000,
        help: "open streams of one principal"
      ),
      .int(
        backendMaxCalls, default: policy.backendCallsMax, in: 2...1_000_000,
        help:
          "calls of one service under way on an event loop; from half of it on bulk calls and new streams are refused"),
      .int(
        backendMaxStreams, default: policy.backendStreamsMax, in: 1...1_000_000,
        help: "open streams of one service on an event loop"),
      .int(
        hedgeAfterMs, default: 0, in: 0...60_000,
        help: "after how long a call that only reads is sent to a second address too; 0 for never"),
      .int(
        maxMemoryBytes, default: 0, in: 0...(1 << 44),
        help: "memory from which on calls are refused, and from 85 % of it on bulk calls and new streams; 0 for none"),
    ]
  }()

  private static let tokens: [Setting] = [
    .path(jwksFile, help: "JSON Web Key Set of an issuer whose tokens are believed; read again when it changes"),
    .string(jwtIssuer, help: "what the claim iss of a token must be"),
    .list(jwtAudiences, default: [], maximumCount: 16, help: "what the claim aud of a token must name, one of these"),
    .bool(jwtAllowAdmin, help: "let the scope admin of a token count"),
  ]

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
    configuration.limits = try limitPolicy(settings)
    let hedgeMs = try settings.int(hedgeAfterMs)
    configuration.secondAttempts.hedgeMs = hedgeMs > 0 ? Int64(hedgeMs) : nil
    configuration.tokens = try tokenPolicy(settings)
    let resolveMs = try settings.int(backendResolveMs)
    configuration.resolveMs = resolveMs > 0 ? Int64(resolveMs) : nil
    configuration.memoryBytesMax = try settings.int(maxMemoryBytes)
    configuration.memoryProbe = MemoryProbe(
      residentBytes: { ProcessMemory.residentBytes() }, release: { ProcessMemory.release() })
    return configuration
  }

  private static func limitPolicy(_ settings: Settings) throws -> LimitPolicy {
    var policy = LimitPolicy()
    policy.principalRate = try rate(settings, principalRate)
    policy.addressRate = try rate(settings, addressRate)
    policy.anonymousRate = try rate(settings, anonymousRate)
    for entry in try settings.list(methodRates) {
      let parts = entry.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, SuiteMethods.all.contains(where: { $0.path == parts[0] }), let limit = RateLimit(parts[1])
      else { throw invalid(methodRates, "\(entry) is not SERVICE/METHOD=PER_SECOND:BURST of a method of the suite") }
      policy.methodRates[String(parts[0])] = limit
    }
    policy.principalCallsMax = try settings.int(principalMaxCalls)
    policy.principalStreamsMax = try settings.int(principalMaxStreams)
    policy.backendCallsMax = try settings.int(backendMaxCalls)
    policy.backendStreamsMax = try settings.int(backendMaxStreams)
    return policy
  }

  private static func rate(_ settings: Settings, _ key: String) throws -> RateLimit? {
    let text = try settings.string(key)
    if text == off { return nil }
    guard let limit = RateLimit(text) else {
      throw invalid(
        key, "must be PER_SECOND:BURST, 1 to \(RateLimit.perSecondMax) and 1 to \(RateLimit.burstMax), or off")
    }
    return limit
  }

  private static func tokenPolicy(_ settings: Settings) throws -> TokenPolicy? {
    let file = try settings.optionalString(jwksFile)
    let issuer = try settings.optionalString(jwtIssuer)
    let audiences = try settings.list(jwtAudiences)
    guard let file, let issuer, !audiences.isEmpty else {
      guard file == nil, issuer == nil, audiences.isEmpty else {
        throw invalid(jwksFile, "tokens need --\(jwksFile), --\(jwtIssuer) and --\(jwtAudiences)")
      }
      return nil
    }
    var policy = TokenPolicy(keySetFile: file, issuer: issuer, audiences: audiences)
    policy.allowsAdmin = try settings.bool(jwtAllowAdmin)
    return policy
  }

  private static func invalid(_ key: String, _ why: String) -> RPCError {
    RPCError(.invalidArgument, "--\(key): \(why)", reason: "CONFIGURATION_INVALID", processed: false)
  }

  /// How HTTP is served. A body must fit into a frame with what an envelope adds.
  static func http(_ settings: Settings) throws -> HTTPConfiguration {
    var configuration = HTTPConfiguration()
    configuration.crossOrigin.origins = try settings.list(corsOrigins)
    let header = TrustedProxies.Header(rawValue: try settings.string(trustedProxyHeader)) ?? .forwardedFor
    guard let proxies = TrustedProxies(try settings.list(trustedProxies), header: header) else {
      throw invalid(trustedProxies, "must be addresses or blocks of them, such as 10.0.0.0/8")
    }
    configuration.trustedProxies = proxies
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
