// The minimal cost of a relay with SwiftNIO: relays the bytes of each connection without parsing them, on one event
// loop.
// usage: FrameRelayNIO PORT; prints its port.
import Foundation
import NIOCore
import NIOPosix

/// Writes the bytes it reads to its partner. Both run on the same event loop.
final class RelayHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var context: ChannelHandlerContext?
  weak var partner: RelayHandler?

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    partner?.context?.write(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
  }

  func channelReadComplete(context: ChannelHandlerContext) { partner?.context?.flush() }
  func channelInactive(context: ChannelHandlerContext) { partner?.context?.close(promise: nil) }
}

guard CommandLine.arguments.count == 2, let port = Int(CommandLine.arguments[1]) else {
  FileHandle.standardError.write(Data("usage: FrameRelayNIO PORT\n".utf8))
  exit(64)
}
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let channel = try await ServerBootstrap(group: group)
  .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
  .childChannelInitializer { near in
    // Reading from a connection starts once the connection to the server is established.
    ClientBootstrap(group: near.eventLoop)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .connect(host: "127.0.0.1", port: port)
      .flatMapThrowing { far in
        let (inward, outward) = (RelayHandler(), RelayHandler())
        (inward.partner, outward.partner) = (outward, inward)
        try near.pipeline.syncOperations.addHandler(inward)
        try far.pipeline.syncOperations.addHandler(outward)
      }
  }
  .bind(host: "127.0.0.1", port: 0).get()
FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))

try await channel.closeFuture.get()
