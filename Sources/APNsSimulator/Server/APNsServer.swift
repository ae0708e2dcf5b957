import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A fault in place of the usual TLS handshake.
enum TLSFault: String, Sendable, Hashable, CaseIterable {
  case none
  /// The connection is closed on the sender's first bytes.
  case refuse
  /// The certificate is not trusted by any sender.
  case untrusted
}

/// The server for senders: HTTP/2 over TLS, by ALPN or, for senders that negotiate nothing, by prior knowledge.
final class APNsServer: Sendable {
  private let simulator: Simulator
  private let tls: NIOSSLContext
  private let untrustedTLS: NIOSSLContext
  private let group: any EventLoopGroup
  private let state = Mutex(State())

  private struct State: Sendable {
    var listener: (any Channel)?
    var connections: [ObjectIdentifier: any Channel] = [:]
    var accepted = 0
    var fault = TLSFault.none
    var isDraining = false
  }

  init(simulator: Simulator, tls: NIOSSLContext, untrustedTLS: NIOSSLContext, group: any EventLoopGroup) {
    self.simulator = simulator
    self.tls = tls
    self.untrustedTLS = untrustedTLS
    self.group = group
  }

  /// Starts listening and returns the port. Throws the system's error.
  func start(host: String, port: Int) async throws -> Int {
    let listener = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in self.initialize(channel) }
      .bind(host: host, port: port).get()
    state.withLock { $0.listener = listener }
    return listener.localAddress?.port ?? port
  }

  var connectionCount: Int { state.withLock { $0.connections.count } }

  /// Sets the fault for new connections; open ones are not affected.
  func set(_ fault: TLSFault) { state.withLock { $0.fault = fault } }

  var fault: TLSFault { state.withLock { $0.fault } }

  /// Ends every open connection, with GOAWAY or immediately.
  func endConnections(gracefully: Bool) {
    for channel in state.withLock({ Array($0.connections.values) }) {
      if gracefully {
        channel.pipeline.fireUserInboundEventTriggered(GoAwayRequest())
      } else {
        channel.close(promise: nil)
      }
    }
  }

  /// Stops listening and waits until open streams have finished and all connections are closed, at most `timeoutMs`.
  ///
  /// - Returns: Whether all connections are closed.
  @discardableResult
  func drain(timeoutMs: Int64) async -> Bool {
    let listener = state.withLock { state in
      state.isDraining = true
      return state.listener
    }
    try? await listener?.close()
    endConnections(gracefully: true)
    let end = ContinuousClock.now + .milliseconds(timeoutMs)
    while connectionCount > 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(10)) }
    return connectionCount == 0
  }

  func shutdown() async {
    try? await state.withLock { $0.listener }?.close()
    endConnections(gracefully: false)
  }

  // MARK: - connections

  /// The reason that NIO is given for closing a connection: the server is draining or at its limit.
  private struct ConnectionRefused: Error {}

  private func initialize(_ channel: any Channel) -> EventLoopFuture<Void> {
    let limits = simulator.limits
    let (fault, number, isRefused) = state.withLock { state in
      state.accepted += 1
      let isRefused = state.isDraining || state.connections.count >= limits.connectionsMax
      if !isRefused { state.connections[ObjectIdentifier(channel)] = channel }
      return (state.fault, state.accepted, isRefused)
    }
    guard !isRefused else { return channel.eventLoop.makeFailedFuture(ConnectionRefused()) }
    simulator.count(\.connectionsAccepted)
    channel.closeFuture.whenComplete { _ in
      _ = self.state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(channel)) }
    }
    return channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      if fault == .refuse { return try pipeline.addHandler(ClosingHandler(simulator: simulator)) }
      let raw = RawFrameWriter()
      try pipeline.addHandlers([
        NIOSSLServerHandler(context: fault == .untrusted ? untrustedTLS : tls), TLSFailureCounter(simulator: simulator),
        raw, Self.http2(limits), SenderConnection(simulator: simulator, number: number, raw: raw),
      ])
    }
  }

  private static func http2(_ limits: SimulatorLimits) -> NIOHTTP2Handler {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    connection.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.concurrentStreamsMax),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 16 * 1024),
    ]
    var stream = NIOHTTP2Handler.StreamConfiguration()
    // A sender under test may reset many streams and make many mistakes.
    stream.streamResetFrameRateLimit.maximumCount = 100_000
    stream.streamErrorRateLimit.maximumCount = 100_000
    connection.controlFrameRateLimit.maximumCount = 10_000
    return NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
  }
}

/// Closes the connection on the sender's first bytes.
private final class ClosingHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let simulator: Simulator

  init(simulator: Simulator) { self.simulator = simulator }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    simulator.count(\.tlsFailures)
    context.close(promise: nil)
  }
}

/// Counts failed handshakes.
private final class TLSFailureCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let simulator: Simulator

  init(simulator: Simulator) { self.simulator = simulator }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let failure = error as? NIOSSLError, case .handshakeFailed = failure { simulator.count(\.tlsFailures) }
    context.fireErrorCaught(error)
  }
}
