public import NIOCore
import Logging
import NIOPosix
import Synchronization

/// What all connections of a server share.
final class ServerCore: Sendable {
  let configuration: ServerConfiguration
  let dispatcher: any CallDispatcher
  let authenticator: any HelloAuthenticator
  let observer: any ServerObserver
  let connectionCount = Atomic<Int>(0)
  /// How often a loop looks for connections that take too long.
  let sweepIntervalMs: Int64

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
    let shortest = min(
      configuration.limits.frameTimeoutMs, configuration.limits.idlePingMs, configuration.limits.unresponsiveMs)
    sweepIntervalMs = max(10, min(1000, shortest / 4))
  }
}

/// What a new connection is served with.
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
      let handler = try tls.addHandlers(to: channel)
      if tls.asksForCertificates { connection.clientTLS = handler }
    }
    try channel.pipeline.syncOperations.addHandler(connection)
  }
}

/// Listens for connections and serves their calls.
///
/// Start it once, then `drain` it (open calls finish, new ones are refused as not processed) and `shutdown` it.
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

  /// How many connections are open.
  public var connectionCount: Int { core.connectionCount.load(ordering: .relaxed) }

  /// Listens. Answers the address, with the port that the system picked where 0 was asked for. Throws when the address cannot
  /// be listened on.
  public func start() async throws -> SocketAddress {
    // Some more than are served, so that those who come too late are told.
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

  /// Serves a connection that came in another way than by listening. On its event loop.
  package func serve(_ channel: any Channel) throws { try setUp.serve(channel) }

  /// Takes no new connections and calls, and returns when the open calls are answered, or after `timeoutMs`.
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

  /// Closes what is open. Calls that are not answered end for their callers as UNAVAILABLE.
  public func shutdown() async {
    await drain(timeoutMs: 0)
    onEveryLoop { $0.closeAll() }
    let deadline = Deadline.after(timeoutMs: 1000)
    while connectionCount > 0, deadline.remainingMs() > 0 { try? await Task.sleep(for: .milliseconds(2)) }
  }
}
