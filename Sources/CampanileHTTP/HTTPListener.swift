package import NIOCore
import CampanileRPC
import NIOPosix
import Synchronization

/// Listens for HTTP connections, and closes them gracefully.
package final class HTTPListener: Sendable {
  private struct State {
    var listening: (any Channel)?
    var open: [ObjectIdentifier: any Channel] = [:]
    var isDraining = false
  }

  private let state = Mutex(State())
  /// The port that the listener is bound to.
  package var port: Int { state.withLock { $0.listening?.localAddress?.port } ?? 0 }

  private init() {}

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - openMax: Maximum number of accepted connections. Others wait in the backlog until one is closed.
  ///   - configure: Sets up a connection's pipeline, on its event loop.
  /// - Throws: `IOError` if the address cannot be bound.
  package static func listen(
    host: String, port: Int, backlog: Int32 = 256, openMax: Int = .max, group: any EventLoopGroup,
    configure: @escaping @Sendable (any Channel) throws -> Void
  ) async throws -> HTTPListener {
    let listener = HTTPListener()
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: backlog)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptGate(openMax: openMax))
        }
      }
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard listener.add(channel) else { throw ChannelError.ioOnClosedChannel }
          try configure(channel)
        }
      }
      .bind(host: host, port: port).get()
    listener.state.withLock { $0.listening = channel }
    return listener
  }

  /// Registers a connection. Returns false if it must be closed, because the listener is draining.
  private func add(_ channel: any Channel) -> Bool {
    let key = ObjectIdentifier(channel)
    let isAdded = state.withLock { state in
      if !state.isDraining { state.open[key] = channel }
      return !state.isDraining
    }
    if isAdded { channel.closeFuture.whenComplete { _ in self.state.withLock { $0.open[key] = nil } } }
    return isAdded
  }

  /// Stops listening, closes idle connections, and returns once all connections are closed.
  ///
  /// Connections receive `ChannelShouldQuiesceEvent`, and close after the response in progress.
  package func drain() async {
    let (listening, open) = stop()
    try? await listening?.close()
    for channel in open {
      channel.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }
    for channel in open { try? await channel.closeFuture.get() }
  }

  /// Stops listening and closes all connections, without waiting for responses.
  package func closeAll() {
    let (listening, open) = stop()
    listening?.close(promise: nil)
    for channel in open { channel.close(promise: nil) }
  }

  private func stop() -> (listening: (any Channel)?, open: [any Channel]) {
    state.withLock { state in
      state.isDraining = true
      return (state.listening, Array(state.open.values))
    }
  }
}
