public import CampanileRPC
public import Logging
public import NIOPosix
public import ServiceLifecycle

/// What an executable is: its name and the settings it takes.
public struct ServiceSpecification: Sendable {
  /// For example `campanile-notifications`.
  public var name: String
  public var defaultPort: Int
  /// Its own settings besides `CommonSettings.all`; one with a common key replaces that one.
  public var settings: [Setting]
  public var listenPolicy: ListenPolicy
  /// Whether what listens on `port` encrypts by itself, whatever the settings of TLS say.
  public var encryptsItself = false
  /// Tells what opening the database in a data folder would do to its schema, without changing it; throws what opening would.
  public var planMigrations: (@Sendable (_ dataDir: String) throws -> String)?

  public init(
    name: String, defaultPort: Int, settings: [Setting] = [], listenPolicy: ListenPolicy = .standard,
    planMigrations: (@Sendable (_ dataDir: String) throws -> String)? = nil
  ) {
    self.name = name
    self.defaultPort = defaultPort
    self.settings = settings
    self.listenPolicy = listenPolicy
    self.planMigrations = planMigrations
  }
}

extension ServiceSpecification {
  /// Throws `ConfigurationError` for settings that would let others in, or listen.
  func check(_ settings: Settings) throws(ConfigurationError) {
    try listenPolicy.check(settings)
    if !encryptsItself { try ListenPolicy.checkEncryption(settings) }
    _ = try TracingSettings.url(settings)
  }
}

/// What an executable builds its components from.
public struct ServiceContext: Sendable {
  public let settings: Settings
  public let logger: Logger
  public let metrics: MetricsRegistry
  public let health: HealthRegistry
  public let readiness: ReadinessRegistry
  /// The loops that serve connections; clients of other services share them.
  public let eventLoopGroup: MultiThreadedEventLoopGroup
  /// Nil when traces are off.
  public let tracer: Tracer?
  /// Watches single calls; for who forwards calls. Nil when they are neither traced nor logged.
  public let observation: CallObservation?
}

/// What an executable runs, as its `open` closure returns it.
public struct ServiceComponents: Sendable {
  /// Offered on the RPC port besides health and reflection.
  public var rpcServices: [any RPCService]
  /// Extra methods for reflection and health that a wrapping dispatcher serves, as a gateway's backends do.
  public var forwardedMethods: [MethodDescriptor] = []
  /// Judges tokens of `rpc.hello`; by default the configured internal token.
  public var authenticator: (any HelloAuthenticator)?
  /// Wraps the dispatcher of the port's own services: a gateway forwards what those do not serve.
  public var wrapDispatcher: (@Sendable (TypedDispatcher, any ServerObserver) -> any CallDispatcher)?
  /// Listens on `port` in place of the RPC server, for an executable that speaks another protocol there.
  public var server: (any DrainableServer)?
  /// Served on the HTTP port, too.
  public var adminRoutes: [AdminRoutes] = []
  /// Answers requests of the operator's own surface, on loopback alone; `nil` for paths that it does not have.
  public var operatorRoutes: (@Sendable (AdminRoutes.Request) async -> AdminRoutes.Response?)?
  /// What takes up new settings while it runs, beside the log level and the certificates.
  public var reloadables: [Reloadable] = []
  /// Is told of the calls of the port's own services, too.
  public var wrapObserver: (@Sendable (any ServerObserver) -> any ServerObserver)?
  /// Serves the HTTP port in the place of the runtime's router and `adminRoutes`.
  public var httpFrontEnd: HTTPFrontEnd?
  /// Run until graceful shutdown: relays, sweepers, client pools. They end after the server has drained.
  public var backgroundServices: [any Service] = []
  public var readinessChecks: [ReadinessCheck] = []
  /// Called when draining begins: ends the streams that would go on for ever, so that the server can drain.
  public var beginDrain: @Sendable () async -> Void = {}
  /// Called last, when nothing runs any more: closes stores.
  public var close: @Sendable () async throws -> Void = {}

  public init(rpcServices: [any RPCService] = []) {
    self.rpcServices = rpcServices
  }
}
