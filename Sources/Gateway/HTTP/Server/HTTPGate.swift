import NIOCore
import NIOHTTP1

/// Stands next to the HTTP codec, below compression: tells the connection when bytes come and what it cannot see, and writes what must
/// not pass through compression, which expects one answer for each request's head.
final class HTTPGate: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  private unowned let connection: HTTPConnection

  init(_ connection: HTTPConnection) { self.connection = connection }

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

/// Writes what has no request's head before it: interim answers, and refusals of requests that could not be read.
final class HTTPBypass: ChannelOutboundHandler, RemovableChannelHandler {
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  enum Event {
    /// 100 Continue.
    case goOn
    case refuse(HTTPResponseHead, ByteBuffer)
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard let event = event as? Event else { return context.triggerUserOutboundEvent(event, promise: promise) }
    switch event {
    case .goOn:
      context.writeAndFlush(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    case .refuse(let head, let body):
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
    promise?.succeed()
  }
}
