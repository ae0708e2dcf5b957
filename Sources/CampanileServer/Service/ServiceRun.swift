import CampanileBase
import CampanileHealthReflection
import CampanileRPC
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A run of an executable, from validated settings to closed stores.
struct ServiceRun {
  let specification: ServiceSpecification
  let settings: Settings
  let environment: ServiceEnvironment
  let logger: Logger
  // The gateway has about 200 methods, and each may return every status code.
  let metrics = MetricsRegistry(maximumSeries: 4_000)
  let health = HealthRegistry()
  private let levels: SharedLogLevel
  private let reload: @Sendable () throws -> Settings

  /// Creates a run and sets up logging and metrics.
  ///
  /// - Parameter reload: Reads and validates the settings again.
  init(
    _ specification: ServiceSpecification, settings: Settings, environment: ServiceEnvironment,
    reload: @escaping @Sendable () throws -> Settings
  ) throws(ConfigurationError) {
    let levels = SharedLogLevel(Logger.Level(rawValue: try settings.string(CommonConfiguration.logLevel)) ?? .info)
    let format =
      LogFormat(rawValue: try settings.string(CommonConfiguration.logFormat))
      ?? (environment.isTerminal ? .pretty : .json)
    let redactor = LogRedactor(additionalKeys: settings.order.filter { settings.entries[$0]?.setting.isSecret == true })
    let makeHandler: @Sendable (String) -> CampanileLogHandler = { label in
      CampanileLogHandler(
        label: label, levels: levels, format: format, sink: environment.logSink, redactor: redactor,
        metadataProvider: Logger.MetadataProvider { CallScope.current?.logMetadata ?? [:] })
    }
    self.specification = specification
    self.settings = settings
    self.environment = environment
    self.levels = levels
    self.reload = reload
    logger = Logger(label: specification.name, factory: makeHandler)
    environment.bootstrap(makeHandler, metrics)
  }

  /// Opens, serves, drains and closes. The components that `open` returns are closed even after a failure.
  func run(_ open: ServiceMain.Open) async throws {
    for name in settings.undeclaredEnvironmentNames {
      logger.debug("variable is not a setting of this executable", metadata: ["name": "\(name)"])
    }
    // Trap signals before anything is opened, so that a signal during the start leads to a drain as well.
    let signals = await environment.signals()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: try settings.int(CommonConfiguration.eventLoopThreads))
    let readiness = ReadinessRegistry { [health] in health.status(of: "") == .serving }
    let tracing = try ProcessTracing.make(
      settings, name: specification.name, version: specification.version, group: group, metrics: metrics, logger: logger
    )
    let context = ServiceContext(
      settings: settings, logger: logger, metrics: metrics, health: health, readiness: readiness, eventLoopGroup: group,
      tracer: tracing?.tracer, observation: try observation(tracing?.tracer),
      waitingBytes: try MemoryConfiguration.budget(settings),
      unreadBytes: try MemoryConfiguration.budget(settings))
    metrics.addGauge("campanile_waiting_bytes") { [budget = context.waitingBytes] in budget.totalBytes }
    metrics.addGauge("campanile_unread_bytes") { [budget = context.unreadBytes] in budget.totalBytes }
    let exporting = tracing.map { tracing in Task { await tracing.exporter.run() } }
    do {
      let components = try await open(context)
      for check in components.readinessChecks { readiness.add(check) }
      do {
        try await serve(components, context: context, signals: signals)
      } catch {
        try? await components.close()
        throw error
      }
      try await components.close()
    } catch {
      if let exporting { await tracing?.exporter.finish(after: exporting) }
      try? await group.shutdownGracefully()
      throw error
    }
    if let exporting { await tracing?.exporter.finish(after: exporting) }
    try await group.shutdownGracefully()
    logger.info("ended")
  }

  private func observation(_ tracer: Tracer?) throws(ConfigurationError) -> CallObservation? {
    let slowCall = Duration.milliseconds(try settings.int(TracingConfiguration.slowCallMs))
    return tracer == nil && slowCall == .zero
      ? nil : CallObservation(tracer: tracer, slowCall: slowCall, logger: logger)
  }

  private func serve(
    _ offered: ServiceComponents, context: ServiceContext, signals: AsyncStream<Int32>
  ) async throws {
    let drainTimeoutMs = Int64(try settings.int(CommonConfiguration.drainTimeoutMs))
    let tls = try CommonConfiguration.serverTLS(settings).map { files in
      try files.explained { try ServerTLSContext(files) }
    }
    if let tls {
      metrics.addGauge("campanile_tls_certificate_expiry_timestamp_seconds") { tls.expirySeconds }
    }
    if settings.isSet(CommonConfiguration.dataDir),
      let space = DiskSpace(folder: try settings.string(CommonConfiguration.dataDir))
    {
      space.tell(metrics)
    }
    let budget = DescriptorBudget(
      limit: DescriptorBudget.raiseLimit(), rpc: try settings.int(CommonConfiguration.maxConnections),
      http: offered.publicHTTP?.limiter.connectionsMax ?? 0)
    if budget.isShort {
      logger.info(
        "too few file descriptors for the configured connections; raise the limit (ulimit -n or LimitNOFILE)",
        metadata: ["rpc": "\(budget.rpcConnections)", "http": "\(budget.httpConnections)"])
    }
    offered.publicHTTP?.limiter.connectionsMax = budget.httpConnections
    let components = offered
    let servicePort = RunningPort()
    let (server, serviceNames) = try makeServer(
      components, tls, context: context, connectionsMax: budget.rpcConnections, onServiceRunning: servicePort.set)
    let hangups = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let reloader = Reloader(
      settings: settings, parts: [.logLevel(levels), .certificates(tls)] + components.reloadables, logger: logger,
      load: reload)
    var services = components.backgroundServices
    let httpPort = try addHTTP(components, tls, context, to: &services)
    let adminPort = try addOperatorServer(components, reloader, context, to: &services)
    services.append(ReloadService(reloader: reloader, hangups: hangups.stream))
    let announcement = try announcer(
      servicePort: { components.server != nil && components.rpcPort != nil ? await servicePort.port() : nil })
    // Last, because a service group shuts down in reverse order: the server drains while everything else still runs.
    services.append(
      ServerLifecycle(
        server: server, health: health, serviceNames: serviceNames, drainTimeoutMs: drainTimeoutMs, logger: logger,
        httpPort: httpPort, adminPort: adminPort, announce: announcement,
        beginDrain: {
          for service in components.rpcServices { service.drainBegan() }
          await components.beginDrain()
        }))
    var configuration = ServiceGroupConfiguration(services: services, logger: quietLogger)
    configuration.maximumGracefulShutdownDuration = .milliseconds(drainTimeoutMs + 5000)
    try await runGroup(
      ServiceGroup(configuration: configuration), signals: signals, hangup: { hangups.continuation.yield() })
  }

  /// Adds the HTTP server and the redirect server, if they are enabled.
  ///
  /// - Returns: A function that waits for the HTTP port, and returns nil if HTTP is disabled.
  private func addHTTP(
    _ components: ServiceComponents, _ tls: ServerTLSContext?, _ context: ServiceContext,
    to services: inout [any Service]
  ) throws -> @Sendable () async -> Int? {
    let redirect = try RedirectConfiguration.configuration(settings)
    guard let port = try CommonConfiguration.resolvedHTTPPort(settings) else { return { nil } }
    let host = try settings.string(CommonConfiguration.host)
    let running = RunningPort()
    services.append(
      AdminServer(
        host: host, port: port, pages: pages(context), routes: components.adminRoutes,
        publicHTTP: components.publicHTTP,
        // Without a public HTTP server, the port serves only operators, in plaintext.
        tls: components.publicHTTP == nil ? nil : tls, group: context.eventLoopGroup,
        onRunning: { running.set($0) }))
    if let redirect {
      services.append(
        RedirectServer(
          host: host, port: redirect.port, redirect: redirect.target, httpsPort: { await running.port() },
          group: context.eventLoopGroup))
    }
    return { await running.port() }
  }

  private func pages(_ context: ServiceContext) -> OperationsPages {
    OperationsPages(metrics: metrics, readiness: context.readiness)
  }

  /// Adds the admin server and the additional metrics server, if they are enabled.
  ///
  /// - Returns: A function that waits for the admin port, and returns nil if there is none.
  private func addOperatorServer(
    _ components: ServiceComponents, _ reloader: Reloader, _ context: ServiceContext, to services: inout [any Service]
  ) throws -> @Sendable () async -> Int? {
    if let address = try OperatorConfiguration.metricsAddress(settings) {
      services.append(
        AdminServer(
          host: address.host, port: address.port, pages: pages(context), group: context.eventLoopGroup,
          onRunning: { _ in }))
    }
    guard let (port, isFixed) = try OperatorConfiguration.resolvedPort(settings) else { return { nil } }
    let running = RunningPort()
    let own = RuntimeOperation(levels: levels, reloader: reloader, logger: logger)
    services.append(
      OperatorServer(
        port: port, isFixed: isFixed,
        routes: [own.answer, pages(context).answer] + (components.operatorRoutes.map { [$0] } ?? []),
        group: context.eventLoopGroup, logger: logger, onRunning: { running.set($0) }))
    return { await running.port() }
  }

  /// The logger of the service group, without its debug messages about each step.
  private var quietLogger: Logger {
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    return quiet
  }

  private func runGroup(
    _ group: ServiceGroup, signals: AsyncStream<Int32>, hangup: @escaping @Sendable () -> Void
  ) async throws {
    let watcher = Task { [logger, environment] in
      var isEnding = false
      for await signal in signals {
        if signal == SIGHUP {
          hangup()
          continue
        }
        guard !isEnding else { return environment.endAtOnce(128 + signal) }
        isEnding = true
        logger.info("signal received, draining; a second one ends immediately", metadata: ["signal": "\(signal)"])
        await group.triggerGracefulShutdown()
      }
    }
    defer { watcher.cancel() }
    try await group.run()
  }

  private func makeServer(
    _ components: ServiceComponents, _ tls: ServerTLSContext?, context: ServiceContext, connectionsMax: Int,
    onServiceRunning: @escaping @Sendable (Int) -> Void
  ) throws -> (server: any DrainableServer, serviceNames: [String]) {
    guard let own = components.server else {
      return try makeRPCServer(components, tls, context: context, connectionsMax: connectionsMax)
    }
    guard components.rpcPort != nil else { return (own, []) }
    let (calls, names) = try makeRPCServer(components, tls, context: context, connectionsMax: connectionsMax)
    return (ServerPair(first: own, second: calls, onSecondRunning: onServiceRunning), names)
  }

  private func makeRPCServer(
    _ components: ServiceComponents, _ tls: ServerTLSContext?, context: ServiceContext, connectionsMax: Int
  ) throws -> (server: any DrainableServer, serviceNames: [String]) {
    let observer = try callObserver(components)
    var configuration = try CommonConfiguration.serverConfiguration(
      settings, agent: "\(specification.name)/\(specification.version)", tls: tls, logger: logger)
    configuration.connectionsMax = connectionsMax
    if components.server != nil, let port = components.rpcPort { configuration.port = port }
    configuration.isTrustedProxy = components.isTrustedProxy
    configuration.waitingBytes = context.waitingBytes
    configuration.unreadBytes = context.unreadBytes
    configuration.nowMs = { WallClock.nowMs() }
    let registry = MethodRegistry(
      .withHealthAndReflection(
        components.rpcServices, health: health, descriptorSet: components.descriptorSet,
        forwarded: components.forwardedMethods),
      interceptors: components.interceptors)
    let typed = TypedDispatcher(
      registry, observer: observer, limits: configuration.limits, observation: context.observation, logger: logger)
    let token = try settings.secret(CommonConfiguration.internalToken)?.reveal()
    let server = RPCServer(
      configuration, dispatcher: components.wrapDispatcher?(typed, observer) ?? typed,
      authenticator: components.authenticator ?? InternalTokenAuthenticator(token: token), observer: observer,
      group: context.eventLoopGroup)
    let names = Set((registry.methods + components.forwardedMethods).map(\.service)).sorted()
    if let replace = environment.replaceServer { return (replace(server), names) }
    return (ListeningRPCServer(server: server, host: configuration.host, port: configuration.port), names)
  }

  /// Returns the observer of the calls on the RPC port, and exports its counts if that is enabled.
  private func callObserver(_ components: ServiceComponents) throws -> any ServerObserver {
    guard try settings.bool(TracingConfiguration.callMetrics) else { return components.calls ?? SilentServerObserver() }
    let calls = components.calls ?? CallMetrics()
    metrics.addCalls(calls)
    return calls
  }

  private func announcer(
    servicePort: @escaping @Sendable () async -> Int?
  ) throws(ConfigurationError) -> @Sendable (Int, Int?, Int?) async throws -> Void {
    let file = try settings.optionalString(CommonConfiguration.readyFile)
    let descriptor = try settings.optionalInt(CommonConfiguration.readyFd)
    return { rpcPort, httpPort, adminPort in
      let announcement = ReadyAnnouncement(
        rpcPort: rpcPort, httpPort: httpPort, processID: Int(getpid()), adminPort: adminPort,
        servicePort: await servicePort())
      if let file { try announcement.write(toFile: file) }
      if let descriptor { try announcement.write(toDescriptor: Int32(descriptor)) }
    }
  }
}
