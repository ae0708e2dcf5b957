public import NIOCore
import CampanileRPC
import HummingbirdCore
import Logging

/// Serves the connections of the HTTP port in the place of the runtime's own router, for an executable whose HTTP is more than
/// `/metrics` and the like.
public struct HTTPFrontEnd: Sendable {
  /// Answers `/metrics`, `/healthz` and `/readyz`; `nil` for other paths.
  public typealias Operations = @Sendable (_ path: String) async -> AdminRoutes.Response?

  /// Connections open at once; more wait in the backlog.
  public var connectionsMax: Int
  /// Sets up a connection's pipeline, on its event loop.
  public var configure: @Sendable (any Channel, @escaping Operations) throws -> Void

  public init(
    connectionsMax: Int, configure: @escaping @Sendable (any Channel, @escaping Operations) throws -> Void
  ) {
    self.connectionsMax = connectionsMax
    self.configure = configure
  }
}

/// Gives each connection of Hummingbird's server to a front end.
struct FrontEndChannel: ServerChildChannel {
  struct Value: ServerChildChannelValue {
    let channel: any Channel
  }
  let frontEnd: HTTPFrontEnd
  let tls: ServerTLSContext?
  let operations: HTTPFrontEnd.Operations

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      try tls?.install(on: channel)
      try frontEnd.configure(channel, operations)
      return Value(channel: channel)
    }
  }

  /// The server waits for its connections, which serve themselves.
  func handle(value: Value, logger: Logger) async { try? await value.channel.closeFuture.get() }
}
