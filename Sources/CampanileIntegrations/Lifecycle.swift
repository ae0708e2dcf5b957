public import CampanileRPC
import Logging
public import ServiceLifecycle

/// A server in a group of swift-service-lifecycle.
extension RPCServer: Service {
  /// Serves until the group shuts down gracefully or the task is cancelled; then drains and shuts down.
  ///
  /// Logs the address as "listening" with the logger of the configuration. Open calls have 30 seconds to finish. For
  /// another time, call `run(draining:_:)` in a service of your own.
  ///
  /// - Throws: The errors of `start`. A cancellation is not an error.
  public func run() async throws {
    try await run(draining: .seconds(30)) { address in
      configuration.logger.info("listening", metadata: ["address": "\(address)"])
      try? await gracefulShutdown()
    }
  }
}

/// A client in a group of swift-service-lifecycle.
extension RPCClient: Service {
  /// Waits until the group shuts down gracefully or the task is cancelled; then closes the client.
  ///
  /// A group ends its services in reverse order. List the client before the server whose handlers use it, so that
  /// draining handlers can still make calls.
  public func run() async {
    try? await gracefulShutdown()
    await close()
  }
}
