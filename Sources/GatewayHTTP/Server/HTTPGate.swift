import NIOCore
import NIOHTTP1

/// The channel handler between the socket and the HTTP codec.
///
/// Reports arriving bytes and other events that the connection does not see. Holds bytes that arrive behind a request
/// in progress. Writes responses that must bypass compression, because the compressor expects exactly one response per
/// request head.
final class HTTPGate: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  private let connection: HTTPConnection
  private var context: ChannelHandlerContext?
  /// Bytes that arrived behind a request in progress. Reads of one event loop tick bound them: at most four buffers of
  /// 64 KiB, or one for an unauthenticated caller. The rest stays in the socket buffer.
  private var held: ByteBuffer?

  init(_ connection: HTTPConnection) { self.connection = connection }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// Writes raw bytes past the codec, to respond to input in which the codec found no request.
  func write(_ bytes: ByteBuffer) { context?.writeAndFlush(NIOAny(bytes), promise: nil) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if connection.isAnswering || held != nil {
      var bytes = unwrapInboundIn(data)
      guard connection.keeps(behind: (held?.readableBytes ?? 0) + bytes.readableBytes) else { return held = nil }
      if held?.writeBuffer(&bytes) == nil { held = bytes }
      return
    }
    connection.bytesArrived()
    context.fireChannelRead(data)
  }

  /// Requests the next read at once, even during a request, when the codec does not. Leaving and rejoining the selector
  /// for each response would cost two system calls. Nothing is read ahead behind a stream, which may never end.
  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    connection.readPaused()
    if held == nil, connection.isReading, connection.exchange?.style.isStream != true { context.read() }
  }

  /// Delivers the held bytes in a later tick, because the current one may still be writing the response.
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
    // An idle connection is closed at once, which would discard a response that is written but not flushed.
    if isQuiescing { context.flush() }
    context.fireUserInboundEventTriggered(event)
    if isQuiescing { connection.quiesce() }
  }
}

/// Writes interim responses, which do not belong to a request's head.
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
