import CampanileAPI
public import CampanileRPC
public import CampanileStore
public import Logging
public import NIOCore
import Synchronization

/// The gateway's RPC side: keys, routing, and the forwarding of calls to the suite's services.
///
/// Make it, `prepare` it, serve `dispatcher(local:observer:)` with `helloAuthenticator` by an `RPCServer` on the same event
/// loops, run `maintain` beside it, and `stop` it when the server has drained.
public final class Gateway: Sendable {
  private let configuration: GatewayConfiguration
  let keys: KeyStore
  private let tokens: TokenAuthority?
  let admission: Admission
  private let replies: ReplyKeeper
  let loops: [LoopForwarder]
  private let directory: BackendDirectory
  private let board: BackendBoard
  private let logger: Logger
  let limits: LimitSettings
  let memory: MemoryGuard
  let statistics = StatisticsBoard()
  let refusals = RefusalBoard()
  let gauges = Mutex<[BackendGauges]>([])
  let routes = Mutex<RoutingTable?>(nil)
  let startedAtNs = MonotonicClock.nowNs()

  /// - Parameters:
  ///   - store: `gateway.sqlite`, opened with `Gateway.migrations`.
  ///   - group: the event loops of the server; the gateway's own connections live on them too.
  ///   - onBackendChange: told when a backend begins or ceases to serve, on an event loop.
  ///
  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` for a configuration that cannot work.
  public init(
    _ configuration: GatewayConfiguration, store: Store, group: any EventLoopGroup, logger: Logger,
    onBackendChange: @escaping @Sendable (_ backend: String, _ isServing: Bool) -> Void = { _, _ in }
  ) throws(RPCError) {
    try BackendConfiguration.check(configuration.backends)
    self.configuration = configuration
    self.logger = logger
    let directory = try BackendDirectory(
      configuration.backends, resolver: configuration.resolver, resolveTimeoutMs: configuration.resolveTimeoutMs,
      logger: logger
    ) { address, name throws(RPCError) in
      try RPCClient(
        configuration.client(for: address, name: name), group: group, environment: configuration.clientEnvironment)
    }
    self.directory = directory
    let clients = directory.clients
    let limits = LimitSettings(configuration.limits)
    self.limits = limits
    let memory = MemoryGuard(bytesMax: configuration.memoryBytesMax, probe: configuration.memoryProbe)
    self.memory = memory
    let eventLoops = Array(group.makeIterator())
    let board = BackendBoard(
      names: configuration.backends.map(\.name), loopCount: eventLoops.count, onChange: onBackendChange)
    self.board = board
    let loops = eventLoops.enumerated().map { index, loop in
      LoopForwarder(
        loop: loop, backends: configuration.backends, clients: clients, outliers: configuration.outliers,
        limits: configuration.limits, breaker: configuration.breaker, secondAttempts: configuration.secondAttempts,
        board: board, loopIndex: index, memory: memory, drainMs: configuration.addressDrainMs, logger: logger,
        random: configuration.random)
    }
    self.loops = loops
    // Scopes are resolved by the backends' numbers; the suite's other services come behind, so that their scopes are known.
    let names = configuration.backends.map(\.name)
    let ring = KeyRing(
      services: names + GatewayConfiguration.suiteServices.filter { !names.contains($0) },
      shares: Admission.principals(limits))
    let keys = KeyStore(store: store, ring: ring) {
      for loop in loops { loop.loop.execute { loop.endStale(nowMs: ring.nowMs()) } }
    }
    self.keys = keys
    tokens = configuration.tokens.map { TokenAuthority($0, ring: ring, logger: logger) }
    admission = Admission(limits)
    replies = ReplyKeeper(store: store, policy: configuration.replies, logger: logger, nowMs: ring.nowMs)
  }

  /// The schema of `gateway.sqlite`.
  public static var migrations: [Migration] { GatewayMigrations.all }

  /// What the gateway serves itself beside health and reflection: `AccessService`.
  public var services: [any RPCService] { [AccessServiceImplementation(keys: keys)] }

  /// Serves and forwards the calls of a server on the gateway's event loops.
  ///
  /// - Parameters:
  ///   - local: serves `services`, health and reflection, and answers for methods that nobody has.
  ///   - observation: watches the calls that are forwarded.
  public func dispatcher(
    local: any CallDispatcher, observer: any ServerObserver, observation: CallObservation? = nil
  ) -> any CallDispatcher {
    let routes = RoutingTable(
      backends: configuration.backends, local: Self.ownMethods, methods: configuration.methods,
      rates: limits.policy.methodRates, observer: observer, observation: observation)
    self.routes.withLock { $0 = routes }
    return Forwarder(
      routes: routes, authenticator: authenticator, admission: admission, memory: memory, local: local, loops: loops,
      replies: replies, observer: observer, timeoutMsDefault: configuration.timeoutMsDefault, refusals: refusals)
  }

  private var authenticator: CallerAuthenticator { CallerAuthenticator(keys: keys.ring, tokens: tokens) }

  /// What the gateway's server serves itself.
  static let ownMethods = AccessServiceMethods.all + HealthMethods.all + ReflectionServiceMethods.all

  /// The same methods over HTTP; to be attached to the same dispatcher.
  public func httpFace(_ http: HTTPConfiguration) -> HTTPFace {
    let methods = configuration.methods.filter { method in
      configuration.backends.contains { method.path.hasPrefix($0.servicePrefix) }
    }
    return HTTPFace(
      http, methods: methods + Self.ownMethods, descriptorSet: DescriptorSet.serializedBytes, nowMs: keys.ring.nowMs,
      credentialFault: { [authenticator] metadata in
        do throws(RPCError) {
          guard let presented = try CallerAuthenticator.bearer(metadata) else { return nil }
          _ = try authenticator.authenticate(presented).get()
          return nil
        } catch { return error }
      })
  }

  /// Judges what connections present in `rpc.hello`: an API key, a token, or the internal token.
  public var helloAuthenticator: any HelloAuthenticator {
    GatewayHelloAuthenticator(
      authenticator: authenticator, internalToken: InternalTokenAuthenticator(token: configuration.internalToken))
  }

  /// The backends that no address of serves at the moment.
  public var missingBackends: [String] { board.missing }

  /// Counts what the gateway's server does for the operator's surface, and tells it to `observer` too.
  public func counting(_ observer: any ServerObserver) -> any ServerObserver {
    CountingObserver(inner: observer, board: statistics)
  }

  /// Finds the addresses of backends that are given by names. Bounded by `resolveTimeoutMs`; without it names are found by `maintain`.
  public func resolveBackends() async { if configuration.resolveMs != nil { await directory.resolve(loops) } }

  /// Checks another configuration, and answers what takes it up: limits, hedging, the memory and the addresses of backends. What else it
  /// says is left as it is.
  ///
  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` for backends that cannot be routed to, and for others than there are.
  public func prepare(_ other: GatewayConfiguration) throws(RPCError) -> @Sendable () -> Void {
    try BackendConfiguration.check(other.backends)
    let names = configuration.backends.map { [$0.name, $0.servicePrefix] }
    guard other.backends.map({ [$0.name, $0.servicePrefix] }) == names else {
      throw RPCError(
        .invalidArgument, "backends are added, removed and put in another order by a restart; addresses may change",
        reason: "CONFIGURATION_INVALID", processed: false)
    }
    return { [self] in
      limits.apply(other.limits)
      memory.set(bytesMax: other.memoryBytesMax)
      for route in routes.withLock({ $0?.described }) ?? [] { route.limit(to: other.limits.methodRates[route.path]) }
      for loop in loops { loop.loop.execute { loop.apply(other.limits, hedgeMs: other.secondAttempts.hedgeMs) } }
      directory.configure(other.backends)
      directory.publish(loops)
      Task { await resolveBackends() }
    }
  }

  /// Reads the keys and begins to connect to the backends. Call it before the server listens.
  ///
  /// Throws where the database or the file of the tokens' keys cannot be read.
  public func prepare() throws {
    try keys.load()
    try replies.load()
    _ = try tokens?.reload()
    logger.info("keys are loaded", metadata: ["count": "\(keys.ring.count)"])
    for loop in loops { loop.loop.execute { loop.start() } }
  }

  /// Makes sure that the file holds the secret of a key with the scope `admin`. See `BootstrapKey`.
  public func bootstrapAdminKey(file: String) async throws {
    try await BootstrapKey(path: file).ensure(in: keys, logger: logger)
  }

  /// Stores the last use of keys, ends streams whose credential has expired, and reads the tokens' keys when they change, until the
  /// task is cancelled.
  public func maintain() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.keepTidy() }
      if let tokens { group.addTask { await self.follow(tokens) } }
      if let resolveMs = configuration.resolveMs { group.addTask { await self.followNames(everyMs: resolveMs) } }
      group.addTask { await self.watchMemory() }
    }
  }

  /// A backend that nobody serves may have moved: then its name is asked for more often.
  private func followNames(everyMs: Int64) async {
    let stepMs = min(everyMs, 1_000)
    var sinceMs = everyMs
    while !Task.isCancelled {
      if sinceMs >= everyMs || !board.missing.isEmpty {
        await directory.resolve(loops)
        sinceMs = 0
      }
      try? await Task.sleep(for: .milliseconds(stepMs))
      sinceMs += stepMs
    }
  }

  private func watchMemory() async {
    while !Task.isCancelled {
      if memory.look() {
        logger.warning(
          "the memory that may be used is nearly or wholly in use, or no longer",
          metadata: ["pressure": "\(memory.levelName)", "residentBytes": "\(memory.residentBytes ?? 0)"])
      }
      try? await Task.sleep(for: .milliseconds(MemoryGuard.checkMs))
    }
  }

  private func follow(_ tokens: TokenAuthority) async {
    var failed = false
    while !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(configuration.keySetCheckMs))
      do {
        if try tokens.reload() {
          logger.notice("the keys of tokens were read again")
          let nowMs = keys.ring.nowMs()
          for loop in loops { loop.loop.execute { loop.endStale(nowMs: nowMs) } }
        }
        failed = false
      } catch {
        // Told once: a file that is being replaced may be missing for a moment, and the keys stay as they are.
        if !failed { logger.error("the keys of tokens cannot be read", metadata: ["error": "\(error)"]) }
        failed = true
      }
    }
  }

  private func keepTidy() async {
    var round = 0
    while !Task.isCancelled {
      // Old keys once an hour, beginning with the start.
      if round % 60 == 0 { await attempt("deleting old keys") { [keys] in try await keys.deleteEnded() } }
      if round % 10 == 0 { await attempt("forgetting old answers") { [replies] in try await replies.purge() } }
      round += 1
      try? await Task.sleep(for: .milliseconds(configuration.maintenanceMs))
      await attempt("storing the last use of keys") { [keys] in try await keys.flushUses() }
      let nowMs = keys.ring.nowMs()
      for loop in loops { loop.loop.execute { loop.endStale(nowMs: nowMs) } }
    }
  }

  private func attempt(_ what: String, _ body: @Sendable () async throws -> Void) async {
    do { try await body() } catch is CancellationError {} catch {
      logger.error("\(what) failed", metadata: ["error": "\(error)"])
    }
  }

  /// Ends the forwarded streams that nothing else would end, UNAVAILABLE `GATEWAY_DRAINING`: draining has begun.
  ///
  /// Streams with a deadline may finish; unary calls do in any case.
  public func endStreams() {
    for loop in loops { loop.loop.execute { loop.endStreamsWithoutDeadline() } }
  }

  /// What `stop` does, without storing anything.
  package func endForwarding() async {
    for loop in loops { try? await loop.loop.submit { loop.stop() }.get() }
    await directory.close()
  }

  /// Ends what is still forwarded and closes the connections to the backends.
  public func stop() async {
    await endForwarding()
    // Not as part of the task that is being cancelled, which the store would not write for.
    await Task { [keys, logger] in
      do { try await keys.flushUses() } catch {
        logger.error("storing the last use of keys failed", metadata: ["error": "\(error)"])
      }
    }.value
  }
}
