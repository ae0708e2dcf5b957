import CampanileAPI
import CampanileBase
import CampanileIntegrations
import CampanileRPC
import Echo
import Logging
import ServiceLifecycle
import TestSupport
import Testing

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A server and a client in a group of swift-service-lifecycle.
@Suite(.timeLimit(.minutes(1))) struct LifecycleTests {
  @Test func gracefulShutdownFinishesOpenCallsAndClosesClient() async throws {
    // The port is free again once this server has stopped.
    let port = try await RPCServer(services: []).run { $0.port }
    let server = RPCServer(ServerConfiguration(port: port, logger: quiet), services: [EchoService()])
    let client = try RPCClient(ClientConfiguration(host: "127.0.0.1", port: port))
    let group = ServiceGroup(services: [client, server], logger: quiet)
    async let running: Void = group.run()
    let echo = EchoServiceClient(client)
    try await eventually("the server's start") { (try? await echo.echo(EchoRequest())) != nil }
    async let slow = echo.echo(EchoRequest(payload: "slow", delayMs: 500))
    try await Task.sleep(for: .milliseconds(100))
    await group.triggerGracefulShutdown()
    #expect(try await slow.payload == "slow")
    try await running
    #expect(server.connectionCount == 0)
    let error = await #expect(throws: RPCError.self) { try await echo.echo(EchoRequest()) }
    #expect(error?.reason == "CLIENT_CLOSED")
  }

  @Test func cancellationIsNoError() async throws {
    let server = RPCServer(ServerConfiguration(logger: quiet), services: [])
    let client = try RPCClient(ClientConfiguration(host: "127.0.0.1", port: 1))
    let services: [any Service] = [server, client]
    for service in services {
      let running = Task { try await service.run() }
      running.cancel()
      try await running.value
    }
    let error = await #expect(throws: RPCError.self) { try await server.start() }
    #expect(error?.reason == "SERVER_STARTED")
  }
}
