public import CampanileRPC
public import CampanileBase

/// Configuration of the gateway's backends, limits and authentication. `ServerConfiguration` sets the listening
/// address.
public struct GatewayConfiguration: Sendable {
  public var backends: [BackendConfiguration]
  /// The methods of all backends, from the generated tables.
  public var methods: [MethodDescriptor]
  /// Presented to the backends (proved instead of sent over plain TCP), and accepted from the operator's own programs.
  /// Without it, no backend trusts the gateway.
  public var internalToken: String?
  public var tls: ClientTLS?
  /// Maximum time to connect to a backend. A call also waits at most this long for a connection that is being opened.
  public var connectTimeoutMs: Int64 = 2_000
  /// The pause between connection attempts.
  public var backoff = Backoff(initialDelay: .milliseconds(50), delayMax: .seconds(1))
  public var outliers = OutlierPolicy()
  /// Each event loop has its own breaker. Pauses have no jitter, because a single call is the probe.
  package var breaker = BreakerPolicy(
    failuresMax: 20,
    pause: Backoff(initialDelay: .milliseconds(500), multiplier: 2, jitter: 0, delayMax: .seconds(10)))
  public var secondAttempts = SecondAttemptPolicy()
  public var limits = GatewayLimits()
  /// Accepts an issuer's bearer tokens in addition to API keys; `nil` accepts API keys only.
  public var tokens: TokenPolicy?
  /// The interval at which the token key-set file is checked for changes.
  public var keySetCheckMs: Int64 = 2_000
  public var replies = ReplyLimits()
  public var console = ConsoleLimits()
  /// The path of the web console, such as `/console`; `nil` if it is not served.
  public var consolePath: String?
  /// Lets users of the console sign in at the issuer of `tokens`; `nil` if they cannot.
  public var issuerSignIn: IssuerConfiguration?
  /// Timeout of a unary call that sets none.
  public var timeoutMsDefault: Int64 = 30_000
  public var frameBytesMax = 4 * 1024 * 1024
  /// The interval at which backend names are resolved; `nil` resolves them only when connecting.
  public var resolveMs: Int64? = 5_000
  /// Maximum time to resolve a name. After it, the addresses from the last successful resolution stay in use.
  public var resolveTimeoutMs: Int64 = 2_000
  public var resolver: any HostResolving = SystemHostResolver()
  /// The time that streams without a deadline may continue at an address after it was removed from its backend.
  public var addressDrainMs: Int64 = 10_000
  /// The process's memory limit; 0 for no limit. Near it, calls that can wait are refused; above it, all calls.
  public var memoryBytesMax = 0
  public var memoryProbe = MemoryProbe(residentBytes: { nil })
  /// Budget for the bytes of incomplete requests: unfinished bodies and frames of all connections. Shared by the
  /// process.
  public var waitingBytesBudget = WaitingBytesBudget.standard()
  /// Budget for the bytes of HTTP responses that callers have not read. Shared by the process.
  public var unreadBytesBudget = WaitingBytesBudget.standard()
  /// The interval at which last uses of keys are stored and stale streams are ended. Every 60th time, old keys are
  /// deleted.
  public var maintenanceMs: Int64 = 60_000

  /// The source of randomness for load balancing and request ids.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  /// The environment in which connections to backends are opened; tests replace it.
  package var clientEnvironment = ClientEnvironment()
  /// Sends requests to the issuer; tests replace it.
  package var issuerExchange: any IssuerExchanging = IssuerExchange()

  public init(backends: [BackendConfiguration], methods: [MethodDescriptor], internalToken: String? = nil) {
    self.backends = backends
    self.methods = methods
    self.internalToken = internalToken
  }

  /// The short names of the suite's services. Scopes may name them even if they are not configured.
  static let suiteServices = ["notifications", "activities", "sync", "attendance", "simulator"]

  /// Returns the client configuration for one address of a backend.
  ///
  /// - Parameter name: The host name that resolved to the address, which its certificate must match; `nil` for a
  ///   literal address.
  func client(for address: HostPort, name: String? = nil) -> ClientConfiguration {
    var tls = tls
    if let name, tls?.serverName == nil { tls?.serverName = name }
    var client = ClientConfiguration(addresses: [address], tls: tls)
    client.internalToken = internalToken.map(InternalTokenAuthenticator.presented)
    client.agent = "campanile-gateway"
    client.connectTimeout = .milliseconds(connectTimeoutMs)
    client.backoff = backoff
    client.frameBytesMax = max(frameBytesMax, WireLimits.clientFrameBytesMin)
    return client
  }
}
