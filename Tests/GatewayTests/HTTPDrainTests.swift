import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

@Suite(.timeLimit(.minutes(1))) struct HTTPDrainTests {
  /// Drains the connection after a response is written and before it is flushed. An event loop runs its tasks in order.
  private final class DrainAtWrite: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private var isDraining = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      context.write(data, promise: promise)
      guard !isDraining else { return }
      isDraining = true
      let channel = context.channel
      context.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }
  }

  @Test func unflushedResponseIsSentWhenDraining() async throws {
    try await withHTTP { harness in
      let listener = try await ServerBootstrap(group: Harness.group)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try harness.frontend.configure(channel) { _ in
              HTTPAnswer(status: 200, contentType: "text/plain", body: Array("healthy".utf8))
            }
            try channel.pipeline.syncOperations.addHandler(DrainAtWrite(), position: .first)
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let wire = try await HTTPWire(port: listener.localAddress?.port ?? 0)
      try await wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try await wire.read().hasSuffix("healthy"))
      await wire.close()
      try await listener.close()
    }
  }
}
