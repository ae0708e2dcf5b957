import NIOCore
import NIOHTTP1

/// Stands next to the HTTP codec, below compression: tells the connection when bytes come and what it cannot see, keeps what comes
/// behind a request that is being answered, and writes what must not pass through compression, which expects one answer for each
/// request's head.
final class HTTPGate: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  private let connection: HTTPConnection
  private var context: ChannelHandlerContext?
  /// What a caller has sent behind a request that is being answered: what one turn of the loop reads, four buffers of 64 KiB at most.
  /// The rest waits in the system.
  private var held: ByteBuffer?

  init(_ connection: HTTPConnection) { self.connection = connection }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// Writes past the codec: an answer where it has seen no request.
  func write(_ bytes: ByteBuffer) { context?.writeAndFlush(NIOAny(bytes), promise: nil) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if connection.isAnswering || held != nil {
      var bytes = unwrapInboundIn(data)
      if held?.writeBuffer(&bytes) == nil { held = bytes }
      return
    }
    connection.bytesArrived()
    context.fireChannelRead(data)
  }

  /// Asks for more at once, also while a request is answered, when the codec does not: to leave the socket for each answer and to come
  /// back to it would be two calls of the system. Behind a stream, which may go on for ever, nothing is kept.
  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    if held == nil, connection.isReading, connection.exchange?.style.isStream != true { context.read() }
  }

  /// Goes on with what was kept. In a later turn of the loop, because this one may be in the middle of the answer.
  func resume() {
    guard held != nil, let context else { return }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    context.eventLoop.execute { bound.value.deliver() }
  }

  private func deliver() {
    guard let bytes = held, let context, !connection.isAnswering, connection.isReading, !connection.isClosing else {
      return
    }
    held = nil
    connection.bytesArrived()
    context.fireChannelRead(wrapInboundOut(bytes))
    channelReadComplete(context: context)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    let isQuiescing = event is ChannelShouldQuiesceEvent
    // A connection without a request is closed at once, and with it an answer that is written and not flushed yet.
    if isQuiescing { context.flush() }
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
