import CampanileAPI
public import CampanileRPC
public import CampanileStore
public import Logging
public import NIOCore

/// The gateway's RPC side: keys, routing, and the forwarding of calls to the suite's services.
///
/// Make it, `prepare` it, serve `dispatcher(local:observer:)` with `helloAuthenticator` by an `RPCServer` on the same event
/// loops, run `maintain` beside it, and `stop` it when the server has drained.
public final class Gateway: Sendable {
  private let configuration: GatewayConfiguration
  private let keys: KeyStore
  private let loops: [LoopForwarder]
  private let clients: [[RPCClient]]
  private let board: BackendBoard
  private let logger: Logger

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
    var clients: [[RPCClient]] = []
    for backend in configuration.backends {
      var ofBackend: [RPCClient] = []
      for address in backend.addresses {
        ofBackend.append(try RPCClient(configuration.client(for: address), group: group))
      }
      clients.append(ofBackend)
    }
    self.clients = clients
    let eventLoops = Array(group.makeIterator())
    let board = BackendBoard(
      names: configuration.backends.map(\.name), loopCount: eventLoops.count, onChange: onBackendChange)
    self.board = board
    let loops = eventLoops.enumerated().map { index, loop in
      LoopForwarder(
        loop: loop, backends: configuration.backends, clients: clients, outliers: configuration.outliers, board: board,
        loopIndex: index, logger: logger)
    }
    self.loops = loops
    // Scopes are resolved by the backends' numbers; the suite's other services come behind, so that their scopes are known.
    let names = configuration.backends.map(\.name)
    let ring = KeyRing(services: names + GatewayConfiguration.suiteServices.filter { !names.contains($0) })
    let keys = KeyStore(store: store, ring: ring) {
      for loop in loops { loop.loop.execute { loop.endStale(nowMs: ring.nowMs()) } }
    }
    self.keys = keys
  }

  /// The schema of `gateway.sqlite`.
  public static var migrations: [Migration] { GatewayMigrations.all }

  /// What the gateway serves itself beside health and reflection: `AccessService`.
  public var services: [any RPCService] { [AccessServiceImplementation(keys: keys)] }

  /// Serves and forwards the calls of a server on the gateway's event loops.
  ///
  /// - Parameter local: serves `services`, health and reflection, and answers for methods that nobody has.
  public func dispatcher(local: any CallDispatcher, observer: any ServerObserver) -> any CallDispatcher {
    let routes = RoutingTable(
      backends: configuration.backends, local: Self.ownMethods, methods: configuration.methods, observer: observer)
    return Forwarder(
      routes: routes, authenticator: CallerAuthenticator(keys: keys.ring), local: local, loops: loops,
      observer: observer, timeoutMsDefault: configuration.timeoutMsDefault)
  }

  /// What the gateway's server serves itself.
  static let ownMethods = AccessServiceMethods.all + HealthMethods.all + ReflectionServiceMethods.all

  /// The same methods over HTTP; to be attached to the same dispatcher.
  public func httpFace(_ http: HTTPConfiguration) -> HTTPFace {
    let methods = configuration.methods.filter { method in
      configuration.backends.contains { method.path.hasPrefix($0.servicePrefix) }
    }
    return HTTPFace(
      http, methods: methods + Self.ownMethods, descriptorSet: DescriptorSet.serializedBytes, nowMs: keys.ring.nowMs,
      credentialFault: { [keys] metadata in
        do throws(RPCError) {
          guard let presented = try CallerAuthenticator.bearer(metadata) else { return nil }
          _ = try keys.ring.authenticate(presented).get()
          return nil
        } catch { return error }
      })
  }

  /// Judges what connections present in `rpc.hello`: an API key, or the internal token.
  public var helloAuthenticator: any HelloAuthenticator {
    GatewayHelloAuthenticator(
      keys: keys.ring, internalToken: InternalTokenAuthenticator(token: configuration.internalToken))
  }

  /// The backends that no address of serves at the moment.
  public var missingBackends: [String] { board.missing }

  /// Reads the keys and begins to connect to the backends. Call it before the server listens.
  public func prepare() throws {
    try keys.load()
    logger.info("keys are loaded", metadata: ["count": "\(keys.ring.count)"])
    for loop in loops { loop.loop.execute { loop.start() } }
  }

  /// Makes sure that the file holds the secret of a key with the scope `admin`. See `BootstrapKey`.
  public func bootstrapAdminKey(file: String) async throws {
    try await BootstrapKey(path: file).ensure(in: keys, logger: logger)
  }

  /// Stores the last use of keys and ends streams whose key has expired, once a minute until the task is cancelled.
  public func maintain() async {
    var round = 0
    while !Task.isCancelled {
      // Old keys once an hour, beginning with the start.
      if round % 60 == 0 { await attempt("deleting old keys") { [keys] in try await keys.deleteEnded() } }
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

  /// Ends what is still forwarded and closes the connections to the backends.
  public func stop() async {
    for loop in loops { try? await loop.loop.submit { loop.stop() }.get() }
    for client in clients.joined() { await client.close() }
    // Not as part of the task that is being cancelled, which the store would not write for.
    await Task { [keys, logger] in
      do { try await keys.flushUses() } catch {
        logger.error("storing the last use of keys failed", metadata: ["error": "\(error)"])
      }
    }.value
  }
}
