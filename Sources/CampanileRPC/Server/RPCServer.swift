public import NIOCore
import Logging
import NIOPosix
import Synchronization

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
    let asksForCredentials = authenticator.asksForCredentials || configuration.tls?.asksForCertificates == true
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
    if let tls = core.configuration.tls {
      let handler = try tls.addRPCHandlers(to: channel)
      if tls.asksForCertificates { connection.clientTLS = handler }
    }
    try channel.pipeline.syncOperations.addHandler(connection)
  }
}

/// Listens for connections and serves their calls.
///
/// Start it once. To stop it, call `drain`, which finishes open calls and refuses new ones as not processed, and then
/// `shutdown`.
public final class RPCServer: Sendable {
  private let core: ServerCore
  private let group: any EventLoopGroup
  private let setUp: ConnectionSetUp
  private var registries: LoopLocal<ConnectionRegistry> { setUp.registries }
  private let listener = Mutex<(any Channel)?>(nil)

  public init(
    _ configuration: ServerConfiguration, dispatcher: any CallDispatcher,
    authenticator: any HelloAuthenticator = InternalTokenAuthenticator(token: nil),
    observer: any ServerObserver = SilentServerObserver(), group: any EventLoopGroup
  ) {
    let core = ServerCore(configuration, dispatcher: dispatcher, authenticator: authenticator, observer: observer)
    self.core = core
    self.group = group
    setUp = ConnectionSetUp(core)
  }

  /// The number of open connections.
  public var connectionCount: Int { core.connectionCount.load(ordering: .relaxed) }

  /// Starts to listen. Returns the address, with the port chosen by the system if 0 was requested. Throws if the
  /// address cannot be bound.
  public func start() async throws -> SocketAddress {
    // A few more than are served, so that excess connections get an error or strangers are evicted for them.
    let openMax = core.configuration.connectionsMax + 16
    let channel = try await ServerBootstrap(group: group)
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
    listener.withLock { $0 = channel }
    guard let address = channel.localAddress else { throw ChannelError.unknownLocalAddress }
    return address
  }

  /// Serves a connection that was not accepted by the listener. Must be called on its event loop.
  package func serve(_ channel: any Channel) throws { try setUp.serve(channel) }

  /// Stops accepting connections and calls. Returns once the open calls are complete, or after `timeoutMs`.
  public func drain(timeoutMs: Int64) async {
    let channel = listener.withLock { listener in
      defer { listener = nil }
      return listener
    }
    try? await channel?.close()
    onEveryLoop { $0.drain() }
    let deadline = Deadline.after(timeoutMs: timeoutMs)
    while connectionCount > 0, deadline.remainingMs() > 0, !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(10))
    }
  }

  private func onEveryLoop(_ body: @escaping @Sendable (ConnectionRegistry) -> Void) {
    for loop in group.makeIterator() {
      loop.execute { [registries] in body(registries.value(on: loop)) }
    }
  }

  /// Closes all connections. Calls that are not complete end for their callers with UNAVAILABLE.
  public func shutdown() async {
    await drain(timeoutMs: 0)
    onEveryLoop { $0.closeAll() }
    let deadline = Deadline.after(timeoutMs: 1000)
    while connectionCount > 0, deadline.remainingMs() > 0 { try? await Task.sleep(for: .milliseconds(2)) }
  }
}
