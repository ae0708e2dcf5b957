public import NIOCore
public import CampanileRPC
import HummingbirdCore
import Logging

/// Serves the connections of a public HTTP port instead of the runtime's router.
public struct PublicHTTPServer: Sendable {
  /// Returns the inexpensive pages `/healthz` and `/readyz`; nil for other paths.
  public typealias Operations = @Sendable (_ path: String) async -> AdminRoutes.Response?

  /// Limits the connections; `configure` must consult it. Its total limit is lowered if file descriptors are scarce.
  public let limiter: ConnectionLimiter
  /// Sets up a connection's pipeline, on its event loop.
  public var configure: @Sendable (any Channel, @escaping Operations) throws -> Void

  public init(
    limiter: ConnectionLimiter, configure: @escaping @Sendable (any Channel, @escaping Operations) throws -> Void
  ) {
    self.limiter = limiter
    self.configure = configure
  }
}

/// Passes each connection of Hummingbird's server to a `PublicHTTPServer`.
struct PublicHTTPChannel: ServerChildChannel {
  struct Value: ServerChildChannelValue {
    let channel: any Channel
  }
  let publicHTTP: PublicHTTPServer
  let tls: ServerTLSContext?
  let operations: PublicHTTPServer.Operations

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      try tls?.install(on: channel)
      try publicHTTP.configure(channel, operations)
      return Value(channel: channel)
    }
  }

  /// Waits until the connection is closed. The handlers in its pipeline serve it.
  func handle(value: Value, logger: Logger) async { try? await value.channel.closeFuture.get() }
}
