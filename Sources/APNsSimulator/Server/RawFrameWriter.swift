import NIOCore
import NIOHTTP2

/// Writes frames past the HTTP/2 handler: told of a GOAWAY, that one closes the connection when the sender, which cannot know
/// yet, opens another stream.
final class RawFrameWriter: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer
  private var context: ChannelHandlerContext?

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// GOAWAY with NO_ERROR (RFC 9113 section 6.8).
  func goAway(lastStream: HTTP2StreamID) {
    guard let context else { return }
    var frame = context.channel.allocator.buffer(capacity: 17)
    frame.writeBytes([0, 0, 8, 7, 0])
    frame.writeInteger(UInt32(0))
    frame.writeInteger(UInt32(truncatingIfNeeded: Int(lastStream)))
    frame.writeInteger(UInt32(0))
    // The HTTP/2 handler passes a flush on only when it has written something itself.
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }
}

/// Asks a connection to end with GOAWAY.
struct GoAwayRequest: Sendable {}
