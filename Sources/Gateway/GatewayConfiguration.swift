public import CampanileRPC
public import CampanileService

/// What the gateway forwards to and how; what it listens on is the server's own configuration.
public struct GatewayConfiguration: Sendable {
  public var backends: [BackendConfiguration]
  /// What the generated tables know of the backends' methods.
  public var methods: [MethodDescriptor]
  /// Presented to the backends, and believed from the operator's own programs. Without one no backend believes the gateway.
  public var internalToken: String?
  public var tls: ClientTLS?
  /// How long connecting to a backend may take, and with it how long a call waits for a connection that is being made.
  public var connectTimeoutMs: Int64 = 2_000
  /// How long to wait between attempts to connect.
  public var backoff: BackoffPolicy = {
    var policy = BackoffPolicy()
    policy.initialMs = 50
    policy.maxMs = 1_000
    return policy
  }()
  public var outliers = OutlierPolicy()
  public var breaker = BreakerPolicy()
  public var secondAttempts = SecondAttemptPolicy()
  public var limits = LimitPolicy()
  /// Whose tokens are believed beside API keys; `nil` for nobody's.
  public var tokens: TokenPolicy?
  /// How often the file of the tokens' keys is looked at.
  public var keySetCheckMs: Int64 = 2_000
  public var replies = ReplyPolicy()
  /// What a unary call gets that asks for no time of its own.
  public var timeoutMsDefault: Int64 = 30_000
  public var frameBytesMax = 4 * 1024 * 1024
  /// How often names of backends are resolved; `nil` for only when they are connected to.
  public var resolveMs: Int64? = 5_000
  /// How long resolving may take before what was known goes on.
  public var resolveTimeoutMs: Int64 = 2_000
  public var resolver: any HostResolving = SystemHostResolver()
  /// How long streams may go on at an address that is no longer one of their backend's.
  public var addressDrainMs: Int64 = 10_000
  /// The memory that the process may have. Near it what may wait is refused, beyond it everything; 0 for as much as there is.
  public var memoryBytesMax = 0
  public var memoryProbe = MemoryProbe(residentBytes: { nil })
  /// How often the last use of keys is stored, stale streams are ended and, at most, old keys are deleted.
  public var maintenanceMs: Int64 = 60_000

  /// Chance for balancing and request ids.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  /// How connections to backends are made.
  package var clientEnvironment = ClientEnvironment()

  public init(backends: [BackendConfiguration], methods: [MethodDescriptor], internalToken: String? = nil) {
    self.backends = backends
    self.methods = methods
    self.internalToken = internalToken
  }

  /// The short names of the suite's services, which scopes may name whether they are configured or not.
  static let suiteServices = ["notifications", "activities", "sync", "attendance"]

  /// How one address of a backend is reached.
  ///
  /// - Parameter name: the name that it was found by, which its certificate is for; `nil` for the address itself.
  func client(for address: ClientConfiguration.Address, name: String? = nil) -> ClientConfiguration {
    var tls = tls
    if let name, tls?.serverName == nil { tls?.serverName = name }
    var client = ClientConfiguration(
      addresses: [address], token: internalToken.map(InternalTokenAuthenticator.presented), tls: tls)
    client.agent = "campanile-gateway"
    client.connectTimeoutMs = connectTimeoutMs
    client.backoff = backoff
    client.frameBytesMax = frameBytesMax
    return client
  }
}
