public import NIOCore
public import CampanileRPC

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
