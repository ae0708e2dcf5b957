import CampanileAPI
public import CampanileBase
import CampanileCrypto
import CampanileHealthReflection
public import CampanileRPC
public import CampanileStore
public import Logging
public import NIOCore
import Synchronization

/// The gateway's RPC side: keys, routing, and the forwarding of calls to the suite's services.
///
/// Create it and call `prepare`. Serve `dispatcher(local:observer:)` and `helloAuthenticator` with an `RPCServer` on
/// the same event loops, and run `maintain` alongside it. Call `stop` after the server has drained.
public final class Gateway: Sendable {
  package let configuration: GatewayConfiguration
  let keys: KeyStore
  /// The sessions of the console.
  package let sessions: ConsoleSessions
  /// The sign-in of the console at the token issuer; nil if it is not configured.
  package let issuerSignIn: IssuerSignIn?
  private let watches = WatchStreams()
  /// Ends the streams whose credential was revoked or has expired.
  private let endStale: @Sendable () -> Void
  private let tokens: TokenAuthority?
  let admission: Admission
  private let replies: ReplyStore
  /// Keeps the memory up to date with other gateways on the database; nil if there cannot be any.
  private let follower: PeerFollower?
  let changes: AccessChanges
  let loops: [LoopForwarder]
  private let directory: BackendDirectory
  private let availability: BackendAvailability
  private let logger: Logger
  let limits: CurrentLimits
  let memory: MemoryGuard
  /// The counts of the server's calls. It must be the observer of the server and of `dispatcher`.
  public let calls = CallMetrics()
  let refusals = RefusalCounts()
  let gauges = Mutex<[BackendGauges]>([])
  let routes = Mutex<RoutingTable?>(nil)
  let startedAtNs = MonotonicClock.nowNs()

  /// - Parameters:
  ///   - store: `gateway.sqlite`, opened with `Gateway.migrations`.
  ///   - peers: Connects the gateway with others on the database; attached to the configuration of `store`.
  ///   - group: The server's event loops, which the gateway's own connections share.
  ///   - onBackendChange: Called on an event loop when a backend starts or stops serving.
  /// - Throws: INVALID_ARGUMENT `CONFIGURATION_INVALID` for an invalid configuration.
  public init(
    _ configuration: GatewayConfiguration, store: Store, peers: GatewayPeers = GatewayPeers(),
    group: any EventLoopGroup, logger: Logger,
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
    let limits = CurrentLimits(configuration.limits)
    self.limits = limits
    let memory = MemoryGuard(bytesMax: configuration.memoryBytesMax, probe: configuration.memoryProbe)
    self.memory = memory
    let eventLoops = Array(group.makeIterator())
    let availability = BackendAvailability(
      names: configuration.backends.map(\.name), loopCount: eventLoops.count, onChange: onBackendChange)
    self.availability = availability
    let loops = eventLoops.enumerated().map { index, loop in
      LoopForwarder(
        loop: loop, backends: configuration.backends, clients: clients, outliers: configuration.outliers,
        limits: configuration.limits, breaker: configuration.breaker, secondAttempts: configuration.secondAttempts,
        availability: availability, loopIndex: index, memory: memory, drainMs: configuration.addressDrainMs,
        logger: logger,
        random: configuration.random)
    }
    self.loops = loops
    // Scopes are resolved by the backends' indices. The other services of the suite follow, so that their scopes are
    // known.
    let names = configuration.backends.map(\.name)
    let ring = KeyRing(
      services: names + GatewayConfiguration.suiteServices.filter { !names.contains($0) },
      shares: Admission.principals(limits))
    let endStale: @Sendable () -> Void = { [watches] in
      let nowMs = ring.nowMs()
      for loop in loops { loop.loop.execute { loop.endStale(nowMs: nowMs) } }
      watches.endStale(nowMs: nowMs)
    }
    self.endStale = endStale
    changes = AccessChanges(peers: peers, store: store)
    keys = KeyStore(store: store, ring: ring, changes: changes, onRevoke: endStale)
    let audit = AuditLog(
      repository: AuditEventRepository(store: store, limits: configuration.console), logger: logger, nowMs: ring.nowMs)
    do throws(CryptoError) {
      sessions = try ConsoleSessions(
        store: store, keys: ring, audit: audit, limits: configuration.console, changes: changes, onEnd: endStale)
    } catch { throw RPCError(.internalError, "the system has no random bytes", reason: "RANDOM_UNAVAILABLE") }
    let tokens = configuration.tokens.map { TokenAuthority($0, ring: ring, logger: logger) }
    self.tokens = tokens
    issuerSignIn = configuration.issuerSignIn.flatMap { [sessions] registration in
      guard let tokens, let issuer = configuration.tokens?.issuer else { return nil }
      return IssuerSignIn(
        registration, issuer: issuer, tokens: tokens, links: sessions.links, exchange: configuration.issuerExchange,
        nowMs: ring.nowMs, logger: logger)
    }
    admission = Admission(limits)
    let membership = store.isShared ? GatewayMembership(store: store, peers: peers) : nil
    replies = ReplyStore(
      store: store, policy: configuration.replies, logger: logger, nowMs: ring.nowMs,
      claims: membership.map { ReplyClaims(store: store, owner: $0.name, peers: peers) })
    follower = membership.map { [changes, keys, sessions, replies] membership in
      PeerFollower(
        changes: changes, membership: membership, keys: keys, sessions: sessions, replies: replies, logger: logger)
    }
  }

  /// A query for the number of gateways that are alive, on a database on PostgreSQL.
  package static var membersSQL: String { GatewayMembership.countSQL }

  /// The schema of `gateway.sqlite`.
  public static var migrations: [Migration] { GatewayMigrations.all }

  /// The gateway's own services in addition to health and reflection.
  public var services: [any RPCService] {
    [
      AccessServiceImplementation(
        keys: keys, audit: sessions.audit, sessions: sessions,
        services: { [configuration, availability] in
          let missing = availability.missing
          return configuration.backends.map { .init(name: $0.name, serving: !missing.contains($0.name)) }
        }),
      ConsoleServiceImplementation(sessions: sessions, path: configuration.consolePath),
      WatchServiceImplementation(streams: watches, methods: configuration.methods),
    ]
  }

  /// Returns the dispatcher for a server on the gateway's event loops.
  ///
  /// - Parameters:
  ///   - local: Serves `services`, health and reflection, and rejects calls of unknown methods.
  ///   - observation: Observes the forwarded calls.
  public func dispatcher(
    local: any CallDispatcher, observer: any ServerObserver, observation: CallObservation? = nil
  ) -> any CallDispatcher {
    let routes = RoutingTable(
      backends: configuration.backends, local: Self.ownMethods, methods: configuration.methods,
      rates: limits.policy.methodRates, observer: observer, observation: observation)
    self.routes.withLock { $0 = routes }
    for route in routes.described { route.share(among: limits.gatewayCount) }
    return Forwarder(
      routes: routes, authenticator: authenticator, admission: admission, memory: memory, local: local, loops: loops,
      replies: replies, observer: observer, timeoutMsDefault: configuration.timeoutMsDefault, refusals: refusals)
  }

  private var authenticator: CallerAuthenticator {
    CallerAuthenticator(keys: keys.ring, tokens: tokens, sessions: sessions)
  }

  /// The methods that the gateway's server implements itself.
  package static let ownMethods =
    AccessServiceMethods.all + ConsoleServiceMethods.all + WatchServiceMethods.all + HealthMethods.all
    + ReflectionServiceMethods.all

  /// The methods of the configured backends and the gateway's own.
  package var servedMethods: [MethodDescriptor] {
    configuration.methods.filter { method in
      configuration.backends.contains { method.path.hasPrefix($0.servicePrefix) }
    } + Self.ownMethods
  }

  /// Authenticates the token of `rpc.hello`: an API key, a token of the issuer, or the internal token.
  public var helloAuthenticator: any HelloAuthenticator {
    GatewayHelloAuthenticator(
      authenticator: authenticator, internalToken: InternalTokenAuthenticator(token: configuration.internalToken),
      admission: admission)
  }

  /// The backends that currently have no serving address.
  public var missingBackends: [String] { availability.missing }

  /// Resolves the names of backends within `resolveTimeoutMs`, before `maintain` does it periodically. Does nothing if
  /// `resolveMs` is nil.
  public func resolveBackends() async { if configuration.resolveMs != nil { await directory.resolve(loops) } }

  /// Validates a new configuration and returns a function that applies it.
  ///
  /// Applies limits, hedging, the memory limit and the addresses of backends; ignores everything else.
  ///
  /// - Throws: INVALID_ARGUMENT `CONFIGURATION_INVALID` for invalid backends, and for other backends than the current
  ///   ones.
  public func prepare(_ other: GatewayConfiguration) throws(RPCError) -> @Sendable () -> Void {
    try BackendConfiguration.check(other.backends)
    let names = configuration.backends.map { [$0.name, $0.servicePrefix] }
    guard other.backends.map({ [$0.name, $0.servicePrefix] }) == names else {
      throw RPCError(
        .invalidArgument, "only the addresses of backends can change; restart to add, remove or reorder backends",
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

  /// Loads the keys and starts to connect to the backends. Call it before the server listens.
  ///
  /// - Throws: If the database or the token key set cannot be read.
  public func prepare() async throws {
    if let follower { shareRates(among: try await follower.join()) }
    try await keys.load()
    try await sessions.load()
    try await replies.load()
    _ = try tokens?.reload()
    logger.info("loaded keys", metadata: ["count": "\(keys.ring.count)"])
    for loop in loops { loop.loop.execute { loop.start() } }
  }

  /// Divides the rates of callers among the gateways on the database.
  private func shareRates(among count: Int) {
    guard limits.share(among: count) else { return }
    logger.notice("dividing the rates of callers", metadata: ["gateways": "\(count)"])
    for route in routes.withLock({ $0?.described }) ?? [] { route.share(among: count) }
  }

  /// Ensures that the file holds the secret of a key with the scope `admin`. See `BootstrapKey`.
  public func bootstrapAdminKey(file: String) async throws {
    try await BootstrapKey(path: file).ensure(in: keys, logger: logger)
  }

  /// Runs the periodic work until the task is cancelled: stores last uses of keys, deletes old keys and replies, ends
  /// streams with expired credentials, and reloads the token key set. Also resolves backend names and checks the
  /// memory.
  public func maintain() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.keepTidy() }
      group.addTask { await self.followPeers() }
      if let tokens { group.addTask { await self.follow(tokens) } }
      if let resolveMs = configuration.resolveMs { group.addTask { await self.followNames(everyMs: resolveMs) } }
      group.addTask { await self.watchMemory() }
    }
  }

  /// Follows other gateways on the database until the task is cancelled. `maintain` does it, too.
  package func followPeers() async { await follower?.run(onCount: shareRates) }

  /// Resolves names periodically, and every second while a backend is missing, because it may have moved.
  private func followNames(everyMs: Int64) async {
    let stepMs = min(everyMs, 1_000)
    var sinceMs = everyMs
    while !Task.isCancelled {
      if sinceMs >= everyMs || !availability.missing.isEmpty {
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
          "memory pressure changed",
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
          logger.notice("reloaded the token keys")
          endStale()
        }
        failed = false
      } catch {
        // Log only the first failure: a file that is being replaced may be missing for a moment. The keys stay in use.
        if !failed { logger.error("cannot read the token keys", metadata: ["error": "\(error)"]) }
        failed = true
      }
    }
  }

  private func keepTidy() async {
    var round = 0
    while !Task.isCancelled {
      // Delete old keys in the first and then every 60th round, by default once an hour.
      if round % 60 == 0 {
        await attempt("deleting old keys") { [keys] in try await keys.deleteEnded() }
        await attempt("deleting old audit events") { [sessions] in try await sessions.audit.purge() }
        await attempt("deleting old changes of keys") { [changes] in try await changes.purge() }
      }
      if round == 0 {
        await attempt("applying the limits to stored replies") { [replies, methods = configuration.methods] in
          try await replies.tidy(methods)
        }
      }
      if round % 10 == 0 { await attempt("deleting expired replies") { [replies] in try await replies.purge() } }
      round += 1
      try? await Task.sleep(for: .milliseconds(configuration.maintenanceMs))
      await attempt("storing the last use of keys") { [keys] in try await keys.flushUses() }
      await attempt("maintaining the console's sessions") { [sessions] in try await sessions.maintain() }
      if follower != nil { await attempt("counting stored replies") { [replies] in try await replies.load() } }
      endStale()
    }
  }

  private func attempt(_ what: String, _ body: @Sendable () async throws -> Void) async {
    do { try await body() } catch is CancellationError {} catch {
      logger.error("\(what) failed", metadata: ["error": "\(error)"])
    }
  }

  /// Ends the streams without a deadline with UNAVAILABLE `GATEWAY_DRAINING`, because draining has begun.
  ///
  /// Streams with a deadline and unary calls may finish.
  public func endStreams() {
    for loop in loops { loop.loop.execute { loop.endStreamsWithoutDeadline() } }
    watches.endAll(BackendFailure.draining)
  }

  /// Does the same as `stop`, but stores nothing.
  package func endForwarding() async {
    for loop in loops { try? await loop.loop.submit { loop.stop() }.get() }
    await directory.close()
  }

  /// Ends the calls that are still forwarded and closes the connections to the backends.
  public func stop() async {
    await endForwarding()
    // In a new task: the store does not write for a cancelled one, and this one is being cancelled.
    await Task { [keys, follower, logger] in
      do { try await keys.flushUses() } catch {
        logger.error("storing the last use of keys failed", metadata: ["error": "\(error)"])
      }
      await follower?.leave()
    }.value
  }
}
