import NIOCore
import NIOHTTP2

/// Writes a GOAWAY frame past the HTTP/2 handler.
///
/// After sending GOAWAY itself, that handler closes the connection if the sender opens another stream, although the
/// sender cannot have seen the frame yet.
final class RawFrameWriter: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer
  private var context: ChannelHandlerContext?

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// Writes GOAWAY with NO_ERROR (RFC 9113 section 6.8).
  func goAway(lastStream: HTTP2StreamID) {
    guard let context else { return }
    var frame = context.channel.allocator.buffer(capacity: 17)
    frame.writeBytes([0, 0, 8, 7, 0])
    frame.writeInteger(UInt32(0))
    frame.writeInteger(UInt32(truncatingIfNeeded: Int(lastStream)))
    frame.writeInteger(UInt32(0))
    // The HTTP/2 handler forwards a flush only if it has written something itself.
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }
}

/// A request to end a connection with GOAWAY.
struct GoAwayRequest: Sendable {}
