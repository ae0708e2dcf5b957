public import CampanileBase
public import CampanileHealthReflection
public import CampanileRPC
public import Logging
public import NIOPosix
public import ServiceLifecycle

/// The name, version and settings of a service.
public struct ServiceSpecification: Sendable {
  /// The executable's name, for example `hello`.
  public var name: String
  /// The executable's version, which `--version`, traces and the `agent` member of `rpc.hello` show.
  public var version: String
  public var defaultPort: Int
  /// The beginning of the environment variables of settings, with its `_`.
  public var environmentPrefix: String
  /// Settings in addition to `CommonConfiguration.all`. A setting with the key of a common one replaces it.
  public var settings: [Setting]
  public var listenPolicy: ListenPolicy
  /// Whether the server on `port` encrypts its connections regardless of the TLS settings.
  package var encryptsItself = false
  /// The optional setting with the port of an RPC server in addition to the server on `port`.
  package var rpcPortKey: String?
  /// Performs a task instead of running the service, if the settings demand one, and returns the text to print.
  package var task: (@Sendable (Settings) throws -> String?)?

  /// Creates a specification.
  ///
  /// - Parameter environmentPrefix: By default the name in upper case: `HELLO_` for `hello`.
  public init(
    name: String, version: String, defaultPort: Int, environmentPrefix: String? = nil, settings: [Setting] = [],
    listenPolicy: ListenPolicy = .standard
  ) {
    self.name = name
    self.version = version
    self.defaultPort = defaultPort
    self.environmentPrefix = environmentPrefix ?? name.uppercased().replacing("-", with: "_") + "_"
    self.settings = settings
    self.listenPolicy = listenPolicy
  }
}

extension ServiceSpecification {
  /// Validates settings that affect security, and the URL for traces.
  ///
  /// - Throws: `ConfigurationError` for settings that would expose the service, and for an invalid URL.
  func check(_ settings: Settings) throws(ConfigurationError) {
    try listenPolicy.check(settings)
    try InternalTokenRule.check(settings)
    if !encryptsItself || rpcPortKey.map(settings.isSet) == true { try ListenPolicy.checkEncryption(settings) }
    _ = try TracingConfiguration.url(settings)
  }
}

/// The facilities from which a service creates its components.
public struct ServiceContext: Sendable {
  public let settings: Settings
  public let logger: Logger
  public let metrics: MetricsRegistry
  public let health: HealthRegistry
  public let readiness: ReadinessRegistry
  /// The event loops that serve connections, shared with the clients of other services.
  public let eventLoopGroup: MultiThreadedEventLoopGroup
  /// The tracer; nil if tracing is disabled.
  public let tracer: Tracer?
  /// Observes single calls, for services that forward calls. Nil if calls are neither traced nor logged.
  public let observation: CallObservation?
  /// The process-wide budget for bytes of waiting requests, shared by all listeners.
  public let waitingBytes: WaitingBytesBudget
  /// The process-wide budget for response bytes that callers have not read.
  public let unreadBytes: WaitingBytesBudget
}

/// The parts of a service to run, which the closure `open` of `ServiceMain.main` returns.
public struct ServiceComponents: Sendable {
  /// Services on the RPC port, in addition to health and reflection.
  public var rpcServices: [any RPCService]
  /// A serialized `google.protobuf.FileDescriptorSet` of all methods, with imports, which reflection returns.
  public var descriptorSet: [UInt8]
  /// Wrap all calls of `rpcServices`, health and reflection, the first one outermost.
  public var interceptors: [any ServerInterceptor] = []
  /// Further methods for reflection and health, served by a wrapping dispatcher, such as those of a gateway's backends.
  package var forwardedMethods: [MethodDescriptor] = []
  /// Authenticates the tokens of `rpc.hello` (default: compares with the configured internal token).
  public var authenticator: (any HelloAuthenticator)?
  /// Wraps the dispatcher of `rpcServices`. A gateway forwards the calls that those services do not handle.
  package var wrapDispatcher: (@Sendable (TypedDispatcher, any ServerObserver) -> any CallDispatcher)?
  /// Returns whether an address belongs to a trusted proxy, which is exempt from the limit of connections per address.
  package var isTrustedProxy: @Sendable (_ host: String) -> Bool = { _ in false }
  /// Replaces the RPC server on `port`, for an executable with another protocol.
  package var server: (any DrainableServer)?
  /// The port of the RPC server, for an executable whose `server` has `port`. Nil: no RPC server then.
  package var rpcPort: Int?
  /// Additional routes on the HTTP port.
  public var adminRoutes: [AdminRoutes] = []
  /// Handles requests on the admin port, which listens only on loopback; returns nil for unknown paths.
  public var operatorRoutes: (@Sendable (AdminRoutes.Request) async -> AdminRoutes.Response?)?
  /// Reloadable parts, in addition to the log level and the certificates.
  public var reloadables: [Reloadable] = []
  /// The counts of the calls on the RPC port, for a service that reads them itself, even if they are not exported.
  public var calls: CallMetrics?
  /// Serves the HTTP port instead of the runtime's router and `adminRoutes`.
  package var publicHTTP: PublicHTTPServer?
  /// Services that run until graceful shutdown, such as relays and client pools. They end after the server has drained.
  public var backgroundServices: [any Service] = []
  public var readinessChecks: [ReadinessCheck] = []
  /// Called when draining begins, after `RPCService.drainBegan()` of each service. Ends the streams that would
  /// otherwise never finish, so that the server can drain.
  public var beginDrain: @Sendable () async -> Void = {}
  /// Called last, after everything else has stopped. Closes stores.
  public var close: @Sendable () async throws -> Void = {}

  public init(rpcServices: [any RPCService] = [], descriptorSet: [UInt8] = []) {
    self.rpcServices = rpcServices
    self.descriptorSet = descriptorSet
  }
}
