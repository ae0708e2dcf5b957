import CampanileBase
public import NIOCore
public import NIOPosix
import Logging
import Synchronization

#if TLS
  internal import NIOSSL
#endif

/// The state shared by all connections of a server.
final class ServerCore: Sendable {
  let configuration: ServerConfiguration
  let dispatcher: any CallDispatcher
  let authenticator: any HelloAuthenticator
  let observer: any ServerObserver
  let connectionCount = Atomic<Int>(0)
  let limiter: ConnectionLimiter
  /// Whether a peer can present a credential. If none is configured, no peer is treated as a stranger.
  let asksForCredentials: Bool
  /// The interval at which each loop checks its connections for timeouts.
  let timeoutCheckIntervalMs: Int64

  var limits: WireLimits { configuration.limits }
  var logger: Logger { configuration.logger }

  init(
    _ configuration: ServerConfiguration, dispatcher: any CallDispatcher, authenticator: any HelloAuthenticator,
    observer: any ServerObserver
  ) {
    self.configuration = configuration
    self.dispatcher = dispatcher
    self.authenticator = authenticator
    self.observer = observer
    let asksForCredentials = authenticator.asksForCredentials || configuration.asksForCertificates
    self.asksForCredentials = asksForCredentials
    limiter = ConnectionLimiter(
      connectionsMax: configuration.connectionsMax, perAddressMax: configuration.connectionsPerAddressMax,
      asksForCredentials: asksForCredentials, isExempt: configuration.isTrustedProxy)
    let limits = configuration.limits
    let shortest = min(
      limits.frameTimeoutMs, limits.strangerFrameTimeoutMs, limits.strangerIdleMs, limits.idlePingMs,
      limits.unresponsiveMs)
    timeoutCheckIntervalMs = max(10, min(1000, shortest / 4))
  }
}

/// The dependencies of new connections.
private struct ConnectionSetUp: Sendable {
  let core: ServerCore
  let contexts = LoopLocal { LoopContext($0) }
  let registries: LoopLocal<ConnectionRegistry>

  init(_ core: ServerCore) {
    self.core = core
    registries = LoopLocal { ConnectionRegistry(loop: $0, core: core) }
  }

  func serve(_ channel: any Channel) throws {
    let connection = ServerConnection(
      core: core, context: contexts.value(on: channel.eventLoop), registry: registries.value(on: channel.eventLoop))
    #if TLS
      if let tls = core.configuration.tls {
        let handler = try tls.addRPCHandlers(to: channel)
        if tls.asksForCertificates { connection.clientTLS = handler }
      }
    #endif
    try channel.pipeline.syncOperations.addHandler(connection)
  }
}

/// Listens for connections and serves their calls.
///
/// `run` serves for the time of a task or of a closure. Otherwise, start the server once. To stop it, call `drain`,
/// which finishes open calls and refuses new ones as not processed, and then `shutdown`.
public final class RPCServer: Sendable {
  private enum Listener {
    case idle, starting, stopped
    case listening(any Channel)
  }
  private let core: ServerCore
  private let group: any EventLoopGroup
  private let setUp: ConnectionSetUp
  private var registries: LoopLocal<ConnectionRegistry> { setUp.registries }
  private let listener = Mutex(Listener.idle)
  private let services: [any RPCService]

  /// Creates a server whose calls a dispatcher serves. Without an authenticator, callers have no token and no
  /// principal. The group must outlive the server.
  public convenience init(
    _ configuration: ServerConfiguration, dispatcher: any CallDispatcher,
    authenticator: (any HelloAuthenticator)? = nil,
    observer: any ServerObserver = SilentServerObserver(),
    group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) {
    self.init(
      configuration, dispatcher: dispatcher, authenticator: authenticator ?? InternalTokenAuthenticator(token: nil),
      observer: observer, group: group, services: [])
  }

  /// Creates a server that notifies services when it begins to drain.
  init(
    _ configuration: ServerConfiguration, dispatcher: any CallDispatcher, authenticator: any HelloAuthenticator,
    observer: any ServerObserver, group: any EventLoopGroup, services: [any RPCService]
  ) {
    self.services = services
    let core = ServerCore(configuration, dispatcher: dispatcher, authenticator: authenticator, observer: observer)
    self.core = core
    self.group = group
    setUp = ConnectionSetUp(core)
  }

  public var configuration: ServerConfiguration { core.configuration }

  /// The number of open connections.
  public var connectionCount: Int { core.connectionCount.load(ordering: .relaxed) }

  /// Starts to listen.
  ///
  /// - Returns: The address, with the port chosen by the system if 0 was requested.
  /// - Throws: The system's error if the address cannot be bound; the server may then be started again. An `RPCError`
  ///   FAILED_PRECONDITION `SERVER_STARTED` if the server was started or stopped before.
  public func start() async throws -> SocketAddress {
    let isFirst = listener.withLock { listener in
      guard case .idle = listener else { return false }
      listener = .starting
      return true
    }
    guard isFirst else { throw Self.startedBefore }
    do {
      let channel = try await bind()
      let isStopped = listener.withLock { listener in
        guard case .starting = listener else { return true }
        listener = .listening(channel)
        return false
      }
      guard !isStopped else {
        try? await channel.close()
        throw Self.startedBefore
      }
      guard let address = channel.localAddress else { throw ChannelError.unknownLocalAddress }
      return address
    } catch {
      listener.withLock { if case .starting = $0 { $0 = .idle } }
      throw error
    }
  }

  private static var startedBefore: RPCError {
    RPCError(
      .failedPrecondition, "the server was started or stopped before; create another one", reason: "SERVER_STARTED",
      processed: false)
  }

  private func bind() async throws -> any Channel {
    // A few more than are served, so that excess connections get an error or strangers are evicted for them.
    let openMax = core.configuration.connectionsMax + 16
    return try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptGate(openMax: openMax))
        }
      }
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.maxMessagesPerRead, value: 4)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 64 * 1024, high: 512 * 1024))
      .childChannelInitializer { [setUp] channel in
        channel.eventLoop.makeCompletedFuture { try setUp.serve(channel) }
      }
      .bind(host: core.configuration.host, port: core.configuration.port).get()
  }

  /// Serves a connection that was not accepted by the listener. Must be called on its event loop.
  package func serve(_ channel: any Channel) throws { try setUp.serve(channel) }

  /// Stops accepting connections and calls, and waits for the open calls.
  ///
  /// - Returns: Whether all calls are complete and all connections closed; false after `timeout`, or if the task is
  ///   cancelled.
  @discardableResult
  public func drain(timeout: Duration) async -> Bool {
    let former = listener.withLock { listener in
      defer { listener = .stopped }
      return listener
    }
    if case .listening(let channel) = former { try? await channel.close() }
    if case .stopped = former {} else { for service in services { service.drainBegan() } }
    onEveryLoop { $0.drain() }
    // A year is as good as no limit, and keeps the arithmetic in range.
    let deadline = Deadline.after(min(timeout, .seconds(31_536_000)))
    while connectionCount > 0, deadline.remainingMs() > 0, !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(10))
    }
    return connectionCount == 0
  }

  private func onEveryLoop(_ body: @escaping @Sendable (ConnectionRegistry) -> Void) {
    for loop in group.makeIterator() {
      loop.execute { [registries] in body(registries.value(on: loop)) }
    }
  }

  /// Closes all connections. Calls that are not complete end for their callers with UNAVAILABLE.
  public func shutdown() async {
    await drain(timeout: .zero)
    onEveryLoop { $0.closeAll() }
    let deadline = Deadline.after(.seconds(1))
    while connectionCount > 0, deadline.remainingMs() > 0 { try? await Task.sleep(for: .milliseconds(2)) }
  }
}
