import CampanileHealthReflection
import Logging
import ServiceLifecycle

/// The lifecycle of a server, from listening to drained.
///
/// The order is: start, SERVING, ready announcement; on graceful shutdown NOT_SERVING, `beginDrain`, drain, shutdown.
struct ServerLifecycle: Service {
  let server: any DrainableServer
  let health: HealthRegistry
  /// Services to set to SERVING, in addition to the empty name.
  let serviceNames: [String]
  let drainTimeoutMs: Int64
  let logger: Logger
  /// Waits for the HTTP port; returns nil if there is none. Awaited before the RPC server starts.
  let httpPort: @Sendable () async -> Int?
  /// Waits for the admin port; returns nil if there is none. Awaited before the RPC server starts.
  let adminPort: @Sendable () async -> Int?
  let announce: @Sendable (_ rpcPort: Int, _ httpPort: Int?, _ adminPort: Int?) async throws -> Void
  let beginDrain: @Sendable () async -> Void

  func run() async throws {
    let httpPort = await httpPort()
    let adminPort = await adminPort()
    try Task.checkCancellation()
    let rpcPort = try await server.start()
    do {
      for name in serviceNames { health.set(name, .serving) }
      health.set("", .serving)
      try await announce(rpcPort, httpPort, adminPort)
      logger.info("ready", metadata: ["rpc": "\(rpcPort)", "http": "\(httpPort.map(String.init) ?? "off")"])
      try await gracefulShutdown()
    } catch {
      health.beginDraining()
      await server.shutdown()
      throw error
    }
    logger.info("draining", metadata: ["timeoutMs": "\(drainTimeoutMs)"])
    health.beginDraining()
    await beginDrain()
    let isDrained = await server.drain(timeoutMs: drainTimeoutMs)
    if !isDrained { logger.warning("calls are still open after draining; closing their connections") }
    await server.shutdown()
    if isDrained { logger.info("drained") }
  }
}
