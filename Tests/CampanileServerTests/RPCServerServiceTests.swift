import CampanileAPI
import CampanileBase
import CampanileRPC
import Echo
import Logging
import ServiceLifecycle
import TestSupport
import Testing

/// A server as a service, as CampanileRPC's documentation shows it.
private struct Serving: Service {
  let server: RPCServer
  func run() async throws { try await server.run { _ in try await gracefulShutdown() } }
}

/// A server in a group of swift-service-lifecycle.
@Suite(.timeLimit(.minutes(1))) struct RPCServerServiceTests {
  /// Makes a call that lasts for half a second, and triggers a graceful shutdown meanwhile.
  private struct Caller: Service {
    let port: Int
    let result: Collector
    let shutDown: @Sendable () async -> Void

    func run() async throws {
      try await RPCClient.with(ClientConfiguration(host: "127.0.0.1", port: port)) { client in
        let echo = EchoServiceClient(client)
        _ = try await echo.echo(EchoRequest())
        async let slow = echo.echo(EchoRequest(payload: "slow", delayMs: 500))
        try await Task.sleep(for: .milliseconds(100))
        await shutDown()
        result.add(try await slow.payload)
      }
    }
  }

  @Test func gracefulShutdownFinishesOpenCalls() async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    // The port is free again once this server has stopped.
    let port = try await RPCServer(services: []).run { $0.port }
    let server = RPCServer(ServerConfiguration(port: port, logger: quiet), services: [EchoService()])
    let group = ServiceGroup(services: [Serving(server: server)], logger: quiet)
    let result = Collector()
    let caller = Caller(port: port, result: result, shutDown: { await group.triggerGracefulShutdown() })
    async let calling: Void = caller.run()
    try await group.run()
    try await calling
    #expect(result.all == ["slow"])
    #expect(server.connectionCount == 0)
  }
}
