import Logging
import ServiceLifecycle

/// Runs a server from listening to drained, in this order:
/// start, SERVING, ready announcement … graceful shutdown: NOT_SERVING, `beginDrain`, drain, shutdown.
struct ServerLifecycle: Service {
  let server: any DrainableServer
  let health: HealthRegistry
  /// Names besides the empty one that turn SERVING.
  let serviceNames: [String]
  let drainTimeoutMs: Int64
  let logger: Logger
  /// Answers the admin server's port when it listens, nil when there is none. Waited for before the RPC server starts.
  let httpPort: @Sendable () async -> Int?
  /// As `httpPort`, of the operator's surface.
  let adminPort: @Sendable () async -> Int?
  let announce: @Sendable (_ rpcPort: Int, _ httpPort: Int?, _ adminPort: Int?) throws -> Void
  let beginDrain: @Sendable () async -> Void

  func run() async throws {
    let httpPort = await httpPort()
    let adminPort = await adminPort()
    try Task.checkCancellation()
    let rpcPort = try await server.start()
    do {
      for name in serviceNames { health.set(name, .serving) }
      health.set("", .serving)
      try announce(rpcPort, httpPort, adminPort)
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
    await server.drain(timeoutMs: drainTimeoutMs)
    await server.shutdown()
    logger.info("drained")
  }
}
