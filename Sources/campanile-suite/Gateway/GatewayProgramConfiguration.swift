import CampanileBase
import CampanileRPC
import CampanileServer
import Gateway
import GatewayDialects
import GatewayHTTP

/// The settings of `campanile-gateway` in addition to those of every executable.
enum GatewayProgramConfiguration {
  static let backends = "backends"
  static let bootstrapAdminKeyFile = "bootstrap-admin-key-file"
  static let connectTimeoutMs = "connect-timeout-ms"
  static let callTimeoutMs = "call-timeout-ms"
  static let readyNeedsBackends = "ready-needs-backends"
  static let corsOrigins = "cors-origins"
  static let allowedHosts = "allowed-hosts"
  static let httpMaxConnections = "http-max-connections"
  static let httpMaxBodyBytes = "http-max-body-bytes"
  static let serveClient = "serve-client"
  static let console = "console"
  static let noConsole = "no-console"
  static let consolePath = "console-path"
  static let consoleURL = "console-url"
  static let consoleClientID = "console-client-id"
  static let consoleClientSecret = "console-client-secret"
  static let consoleIssuerScopes = "console-issuer-scopes"
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
  static let trustedProxies = "trusted-proxies"
  static let trustedProxyHeader = "trusted-proxy-header"
  static let jwksFile = "jwt-jwks-file"
  static let jwtIssuer = "jwt-issuer"
  static let jwtAudiences = "jwt-audiences"
  static let jwtAllowAdmin = "jwt-allow-admin"
  static let jwtType = "jwt-type"
  static let jwtSubjectPrefix = "jwt-subject-prefix"

  static let defaultPort = 7400
  /// The value for an unlimited rate.
  private static let off = "off"

  static let all: [Setting] =
    [
      .list(
        backends,
        default: [
          "notifications=127.0.0.1:7401", "activities=127.0.0.1:7402", "attendance=127.0.0.1:7404",
        ], maximumCount: 1024,
        help: "services to forward to, NAME=HOST:PORT each; a repeated NAME adds an address"),
      .path(bootstrapAdminKeyFile, help: "file with an admin key; created with mode 0600 if missing"),
      .int(
        connectTimeoutMs, default: 2_000, in: 10...60_000,
        help: "maximum time to connect to a service, also for a call that waits for it"),
      .int(
        callTimeoutMs, default: 30_000, in: 1...600_000, help: "default timeout of unary calls"
      ),
      .bool(
        readyNeedsBackends, default: true, help: "report ready only while every service has a serving address"),
      .list(
        corsOrigins, default: [], maximumCount: 64,
        help: "origins allowed to call over HTTP (CORS), such as https://app.example; * for all"),
      .list(
        allowedHosts, default: [], maximumCount: 64,
        help:
          "allowed HTTP host names in addition to this machine's (default: no others on loopback, any name elsewhere)"
      ),
      .bool(
        CommonConfiguration.httpEnabled, default: true,
        help: "serve HTTP: the methods, /openapi.json, /healthz and /readyz"),
      .int(CommonConfiguration.httpPort, default: 0, in: 0...65_535, help: "HTTP port; 0 is the RPC port + 100"),
      .int(httpMaxConnections, default: 20_000, in: 1...1_000_000, help: "maximum number of HTTP connections"),
      .int(
        httpMaxBodyBytes, default: HTTPConfiguration().bodyBytesMax, in: 1024...(64 << 20),
        help: "maximum HTTP body in bytes; max-frame-bytes limits it, too"),
      .bool(serveClient, default: true, help: "serve the TypeScript client under /sdk/ over HTTP"),
      .bool(console, help: "serve the web console over HTTP (default: only if host is a loopback address)"),
      .bool(noConsole, help: "do not serve the web console"),
      .string(consolePath, default: "/console", help: "path of the web console: / and one segment"),
      .string(consoleURL, help: "public URL of the web console, such as https://push.example/console"),
      .string(consoleClientID, help: "client of the web console at the token issuer; lets users sign in there"),
      .secret(consoleClientSecret, help: "secret of that client, unless it is a public one"),
      .list(
        consoleIssuerScopes, default: [], maximumCount: 16, help: "scopes that a sign-in at the token issuer asks for"),
      .list(
        dialects, default: [], maximumCount: 16,
        help: "apps whose own HTTP APIs to serve as well: \(Dialect.allCases.map(\.rawValue).joined(separator: ", "))"),
      .bool(
        insecureCookies, default: false,
        help: "send session cookies without HTTPS, for loopback"),
      .string(firebaseApp, help: "bundle id of the app whose Firebase callables to serve"),
      .choice(
        firebaseDates, of: ["foundation", "verbatim"], default: "foundation",
        help: "date format in pushes to that app's widget: seconds since 2001, or ISO 8601"),
      .int(
        backendResolveMs, default: 5_000, in: 0...3_600_000,
        help: "interval at which service names are resolved to all their addresses; 0 resolves when connecting only"),
      .list(
        trustedProxies, default: [], maximumCount: 64,
        help: "proxies trusted to report callers' addresses, such as 10.0.0.0/8"),
      .choice(
        trustedProxyHeader, of: TrustedProxies.Header.allCases.map(\.rawValue),
        default: TrustedProxies.Header.forwardedFor.rawValue, help: "the header that trusted proxies set"),
    ] + limits + tokens + ServiceClientConfiguration.all + OperatorConfiguration.all + RedirectConfiguration.all

  /// The settings that a reload applies. The others require a restart.
  static let reloadable: Set<String> = [
    backends, principalRate, addressRate, anonymousRate, methodRates, principalMaxCalls, principalMaxStreams,
    backendMaxCalls, backendMaxStreams, hedgeAfterMs, MemoryConfiguration.maxMemoryBytes,
  ]

  private static let limits: [Setting] = {
    let policy = GatewayLimits()
    func rate(_ key: String, _ value: RateLimit?, _ help: String) -> Setting {
      .string(key, default: value?.description ?? off, help: "\(help), PER_SECOND:BURST or off")
    }
    return [
      rate(principalRate, policy.principalRate, "call rate of one principal"),
      rate(addressRate, policy.addressRate, "call rate of one address"),
      rate(anonymousRate, policy.anonymousRate, "rate of calls without a credential from one address"),
      .list(
        methodRates, default: [], maximumCount: 256,
        help: "call rates of methods for all callers together, SERVICE/METHOD=PER_SECOND:BURST"),
      .int(
        principalMaxCalls, default: policy.principalCallsMax, in: 1...1_000_000,
        help: "maximum number of concurrent calls of one principal, without streams"),
      .int(
        principalMaxStreams, default: policy.principalStreamsMax, in: 1...1_000_000,
        help: "maximum number of open streams of one principal"
      ),
      .int(
        backendMaxCalls, default: policy.backendCallsMax, in: 2...1_000_000,
        help:
          "maximum number of calls to one service per event loop; bulk calls and new streams get half of it"),
      .int(
        backendMaxStreams, default: policy.backendStreamsMax, in: 1...1_000_000,
        help: "maximum number of open streams to one service per event loop"),
      .int(
        hedgeAfterMs, default: 0, in: 0...60_000,
        help: "delay after which a read-only call is also sent to a second address; 0 for never"),
    ]
  }()

  private static let tokens: [Setting] = [
    .path(jwksFile, help: "JSON Web Key Set of a trusted token issuer; reloaded when it changes"),
    .string(jwtIssuer, help: "required claim iss of tokens"),
    .list(jwtAudiences, default: [], maximumCount: 16, help: "audiences of which the claim aud must name one"),
    .bool(jwtAllowAdmin, help: "accept the scope admin in tokens"),
    .string(
      jwtType,
      help: "required typ of tokens, such as at+jwt for access tokens only (default: JWT, at+jwt or none)"),
    .string(jwtSubjectPrefix, help: "prefix of a token's subject in its principal: user/PREFIXsub"),
  ]

  /// Reads the configuration.
  ///
  /// - Throws: INVALID_ARGUMENT `CONFIGURATION_INVALID` for backends that calls cannot be routed to;
  ///   `ConfigurationError` for settings that the executable does not declare.
  static func configuration(_ settings: Settings) throws -> GatewayConfiguration {
    var configuration = GatewayConfiguration(
      backends: try BackendConfiguration.parse(settings.list(backends)), methods: SuiteMethods.all,
      internalToken: try settings.secret(CommonConfiguration.internalToken)?.reveal())
    configuration.connectTimeoutMs = Int64(try settings.int(connectTimeoutMs))
    configuration.timeoutMsDefault = Int64(try settings.int(callTimeoutMs))
    configuration.frameBytesMax = try settings.int(CommonConfiguration.maxFrameBytes)
    configuration.tls = try ServiceClientConfiguration.tls(settings)
    configuration.limits = try gatewayLimits(settings)
    let hedgeMs = try settings.int(hedgeAfterMs)
    configuration.secondAttempts.hedgeMs = hedgeMs > 0 ? Int64(hedgeMs) : nil
    configuration.tokens = try tokenPolicy(settings)
    configuration.consolePath = try servedConsolePath(settings)
    configuration.issuerSignIn = try issuerSignIn(settings, issuer: configuration.tokens?.issuer)
    let resolveMs = try settings.int(backendResolveMs)
    configuration.resolveMs = resolveMs > 0 ? Int64(resolveMs) : nil
    configuration.memoryBytesMax = try MemoryConfiguration.memoryBytesMax(settings)
    configuration.memoryProbe = MemoryProbe(
      residentBytes: { ProcessMemory.residentBytes() }, release: { ProcessMemory.release() })
    return configuration
  }

  private static func gatewayLimits(_ settings: Settings) throws -> GatewayLimits {
    var policy = GatewayLimits()
    policy.principalRate = try rate(settings, principalRate)
    policy.addressRate = try rate(settings, addressRate)
    policy.anonymousRate = try rate(settings, anonymousRate)
    for entry in try settings.list(methodRates) {
      let parts = entry.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, SuiteMethods.all.contains(where: { $0.path == parts[0] }), let limit = RateLimit(parts[1])
      else { throw invalid(methodRates, "\(entry) is not SERVICE/METHOD=PER_SECOND:BURST with a method of the suite") }
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
    policy.type = try settings.optionalString(jwtType)
    if let type = policy.type, type.lowercased() != "jwt", type.lowercased() != TokenPolicy.accessTokenType {
      throw invalid(jwtType, "must be JWT or \(TokenPolicy.accessTokenType)")
    }
    policy.subjectPrefix = try settings.optionalString(jwtSubjectPrefix) ?? ""
    guard policy.subjectPrefix.utf8.count <= 64, Principal("user/\(policy.subjectPrefix)x") != nil else {
      throw invalid(jwtSubjectPrefix, "must be at most 64 characters of A-Z a-z 0-9 . _ : @ -")
    }
    return policy
  }

  static func invalid(_ key: String, _ why: String) -> RPCError {
    RPCError(.invalidArgument, "--\(key): \(why)", reason: "CONFIGURATION_INVALID", processed: false)
  }

  /// Returns nil if the gateway listens beyond loopback without configured hosts, because any host name may refer to it
  /// then.
  private static func hostGuard(_ settings: Settings) throws -> HostGuard? {
    let names = try settings.list(allowedHosts)
    guard let known = HostGuard(names: names) else {
      throw invalid(allowedHosts, "must be names or addresses without a scheme and a port, such as api.example")
    }
    let host = try settings.string(CommonConfiguration.host)
    return names.isEmpty && !HostPort.isLoopback(host) ? nil : known
  }

  /// Reads the configuration of HTTP. A body and its envelope must fit into a frame.
  static func http(_ settings: Settings) throws -> HTTPConfiguration {
    var configuration = HTTPConfiguration()
    configuration.crossOrigin.origins = try settings.list(corsOrigins)
    configuration.hostGuard = try hostGuard(settings)
    configuration.servesClient = try settings.bool(serveClient)
    let header = TrustedProxies.Header(rawValue: try settings.string(trustedProxyHeader)) ?? .forwardedFor
    guard let proxies = TrustedProxies(try settings.list(trustedProxies), header: header) else {
      throw invalid(trustedProxies, "must be addresses or blocks of them, such as 10.0.0.0/8")
    }
    configuration.trustedProxies = proxies
    configuration.connectionsMax = try settings.int(httpMaxConnections)
    configuration.connectionsPerAddressMax = try settings.int(CommonConfiguration.maxConnectionsPerAddress)
    configuration.isEncrypted = try settings.optionalString(CommonConfiguration.tlsCertFile) != nil
    let frameBytesMax = try settings.int(CommonConfiguration.maxFrameBytes)
    configuration.bodyBytesMax = min(try settings.int(httpMaxBodyBytes), frameBytesMax - min(65_536, frameBytesMax / 4))
    return configuration
  }

  static func dialectConfiguration(_ settings: Settings) throws -> DialectConfiguration {
    var configuration = DialectConfiguration()
    configuration.enabled = Set(
      try settings.list(dialects).map { name in
        guard let dialect = Dialect(rawValue: name) else {
          throw RPCError.invalidField(dialects, "unknown dialect \(name)", reason: "CONFIGURATION_INVALID")
        }
        return dialect
      })
    configuration.areCookiesSecure = try !settings.bool(insecureCookies)
    configuration.firebase.app = try settings.optionalString(firebaseApp) ?? ""
    configuration.firebase.writesFoundationDates = try settings.string(firebaseDates) == "foundation"
    guard !configuration.enabled.contains(.firebase) || !configuration.firebase.app.isEmpty else {
      throw RPCError.invalidField(firebaseApp, "is required by the dialect firebase", reason: "CONFIGURATION_INVALID")
    }
    return configuration
  }
}
