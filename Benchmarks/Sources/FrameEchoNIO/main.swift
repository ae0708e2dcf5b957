// The SwiftNIO baseline: echoes every frame unchanged, with one write and one flush per read batch. Prints its port.
import Foundation
import NIOCore
import NIOPosix

final class EchoHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var rest = ByteBuffer()
  private var outgoing = ByteBuffer()

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    if rest.readableBytes > 0 {
      rest.writeBuffer(&bytes)
      swap(&rest, &bytes)
      rest.clear()
    }
    while let length = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self),
      let frame = bytes.readSlice(length: 4 + Int(length))
    {
      outgoing.writeImmutableBuffer(frame)
    }
    if bytes.readableBytes > 0 { rest = bytes }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    guard outgoing.readableBytes > 0 else { return }
    let bytes = outgoing
    outgoing = ByteBuffer()
    context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
  }
}

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let channel = try await ServerBootstrap(group: group)
  .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
  .childChannelInitializer { channel in
    channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
  }
  .bind(host: "127.0.0.1", port: 0).get()
FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))

try await channel.closeFuture.get()
