import CampanileHTTP
import CampanileHealthReflection
import CampanileRPC
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

@testable import CampanileServer

/// The HTTP ports of operators and services with slow peers.
@Suite struct AdminConnectionTests {
  private enum Port { case services, operators }

  /// Runs `body` with the port of one of the servers.
  private func withServer(
    _ kind: Port, _ limits: PageLimits, _ body: @Sendable (Int) async throws -> Void
  ) async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let health = HealthRegistry()
    let pages = OperationsPages(
      metrics: MetricsRegistry(),
      readiness: ReadinessRegistry {
        _ = health; return true
      })
    let running = RunningPort()
    var logger = Logger(label: "t") { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .critical
    let service: any Service
    switch kind {
    case .services:
      service = AdminServer(
        host: "127.0.0.1", port: 0, pages: pages, limits: limits, group: group, onRunning: { running.set($0) })
    case .operators:
      service = OperatorServer(
        port: 0, isFixed: true, limits: limits, routes: [pages.answer], group: group, logger: logger,
        onRunning: { running.set($0) })
    }
    let services = ServiceGroup(services: [service], logger: logger)
    let run = Task { try await services.run() }
    let port = try #require(await running.port())
    let result: Result<Void, any Error>
    do {
      try await body(port)
      result = .success(())
    } catch { result = .failure(error) }
    await services.triggerGracefulShutdown()
    try await run.value
    try result.get()
  }

  /// A connection that has sent part of a request.
  private final class Trickle: Sendable {
    let channel: any Channel
    let received: AsyncStream<String>

    init(_ port: Int, _ start: String) async throws {
      let (stream, continuation) = AsyncStream.makeStream(of: String.self)
      received = stream
      channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Reader(continuation))
          }
        }
        .connect(host: "127.0.0.1", port: port).get()
      if !start.isEmpty { try await channel.writeAndFlush(ByteBuffer(string: start)).get() }
    }

    /// Returns all bytes until the server closes the connection.
    func rest() async -> String {
      var text = ""
      for await piece in received { text += piece }
      return text
    }

    private final class Reader: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      private let continuation: AsyncStream<String>.Continuation
      init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }
      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        continuation.yield(String(buffer: unwrapInboundIn(data)))
      }
      func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
      func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
  }

  private static let half = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "

  private func manyTricklers(_ kind: Port) async throws {
    // No timeout expires: the oldest connections are closed.
    let limits = PageLimits(connectionsMax: 8)
    try await withServer(kind, limits) { port in
      var first: [Trickle] = []
      for start in ["", Self.half] {
        for _ in 0..<8 { first.append(try await Trickle(port, start)) }
      }
      for _ in 0..<3 {
        for path in ["/healthz", "/metrics", "/readyz"] {
          let answer = try await SocketTests.get(port, path, host: "127.0.0.1")
          #expect(answer.hasPrefix("HTTP/1.1 200"), "\(path)")
        }
      }
      for idle in first.prefix(8) { #expect(await idle.rest() == "") }
      for trickle in first { try? await trickle.channel.close() }
    }
  }

  @Test("slow connections do not lock out scrapes of a service")
  func servicesStayReachable() async throws { try await manyTricklers(.services) }

  @Test("slow connections do not lock out the operator")
  func operatorsStayReachable() async throws { try await manyTricklers(.operators) }

  @Test func incompleteRequestsGet408() async throws {
    let limits = PageLimits(timeouts: HTTPTimeouts(headTimeoutMs: 50, bodyTimeoutMs: 50))
    try await withServer(.operators, limits) { port in
      let body =
        "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
      for start in ["G", Self.half, body] {
        let answer = await (try Trickle(port, start)).rest()
        #expect(answer.hasPrefix("HTTP/1.1 408"), "\(start)")
        #expect(answer.lowercased().contains("connection: close"))
      }
    }
  }

  @Test func idleConnectionsCloseWithoutResponse() async throws {
    // Long enough for a slow machine to send the request before the connection counts as idle.
    try await withServer(.services, PageLimits(timeouts: HTTPTimeouts(idleTimeoutMs: 1_000))) { port in
      #expect(await (try Trickle(port, "")).rest() == "")
      let kept = await (try Trickle(port, "GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")).rest()
      #expect(kept.hasPrefix("HTTP/1.1 200"))
      #expect(!kept.contains("408"))
    }
  }
}
