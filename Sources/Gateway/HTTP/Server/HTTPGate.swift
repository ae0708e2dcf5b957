import NIOCore
import NIOHTTP1

/// Stands next to the HTTP codec, below compression: tells the connection when bytes come and what it cannot see, and writes what must
/// not pass through compression, which expects one answer for each request's head.
final class HTTPGate: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  private let connection: HTTPConnection
  private var context: ChannelHandlerContext?

  init(_ connection: HTTPConnection) { self.connection = connection }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// Writes past the codec: an answer where it has seen no request.
  func write(_ bytes: ByteBuffer) { context?.writeAndFlush(NIOAny(bytes), promise: nil) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    connection.bytesArrived()
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    let isQuiescing = event is ChannelShouldQuiesceEvent
    context.fireUserInboundEventTriggered(event)
    if isQuiescing { connection.quiesce() }
  }
}

/// Writes what is no answer to a request's head: interim answers.
final class HTTPBypass: ChannelOutboundHandler, RemovableChannelHandler {
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  enum Event {
    /// 100 Continue.
    case goOn
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard let event = event as? Event else { return context.triggerUserOutboundEvent(event, promise: promise) }
    switch event {
    case .goOn:
      context.writeAndFlush(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }
    promise?.succeed()
  }
}
