import CampanileRPC
import NIOCore
import NIOPosix
import Synchronization
import TLSPeer
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Ends of connections over HTTPS.
@Suite(.timeLimit(.minutes(1))) final class HTTPSEndTests: Sendable {
  private let connections = Mutex<[any Channel]>([])
  private let asked = Atomic(false)

  @Test(arguments: TLSPeer.Ending.allCases) func connectionsEndWithoutDelay(ending: TLSPeer.Ending) async throws {
    let caller = try await TLSPeer()
    defer { caller.remove() }
    // Longer than the test's time limit, so waiting for the peer would fail the test.
    let tls = try ServerTLSContext(
      ServerTLS(certificateChainFile: caller.certificateFile, privateKeyFile: caller.keyFile),
      shutdownTimeout: .seconds(90))
    try await withHTTP { harness in
      let listener = try await ServerBootstrap(group: Harness.group)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { [self] channel in
          channel.eventLoop.makeCompletedFuture {
            connections.withLock { $0.append(channel) }
            try tls.install(on: channel)
            try harness.frontend.configure(channel) { [self] _ in
              asked.store(true, ordering: .relaxed)
              return HTTPAnswer(status: 200, contentType: "text/plain", body: Array("healthy".utf8))
            }
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let port = listener.localAddress?.port ?? 0
      let request = Array("GET /healthz HTTP/1.1\r\nHost: server.test\r\n\r\n".utf8)
      async let ended: Void = caller.ask(port: port, request, until: "healthy", ending: ending)
      if ending == .answer {
        try await eventually("the caller has asked") { asked.load(ordering: .relaxed) }
        // A draining server notifies its connections in this way.
        for connection in connections.withLock({ $0 }) {
          connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
      }
      try await ended
      for connection in connections.withLock({ $0 }) { try await connection.closeFuture.get() }
      try await listener.close()
    }
    #expect(connections.withLock { $0.count } == 1)
  }
}
