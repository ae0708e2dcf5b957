package import NIOCore
package import CampanileRPC

/// Serves the connections of a public HTTP port instead of the runtime's router.
package struct PublicHTTPServer: Sendable {
  /// Returns the inexpensive pages `/healthz` and `/readyz`; nil for other paths.
  package typealias Operations = @Sendable (_ path: String) async -> AdminRoutes.Response?

  /// Limits the connections; `configure` must consult it. Its total limit is lowered if file descriptors are scarce.
  package let limiter: ConnectionLimiter
  /// Sets up a connection's pipeline, on its event loop.
  package var configure: @Sendable (any Channel, @escaping Operations) throws -> Void

  package init(
    limiter: ConnectionLimiter, configure: @escaping @Sendable (any Channel, @escaping Operations) throws -> Void
  ) {
    self.limiter = limiter
    self.configure = configure
  }
}
