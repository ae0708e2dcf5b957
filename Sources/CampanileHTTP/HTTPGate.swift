package import NIOCore
package import NIOHTTP1

/// A connection behind an `HTTPGate`. Confined to its event loop.
package protocol HTTPGatedConnection: AnyObject {
  /// Whether a request has been read completely and its response has not ended. Bytes behind it are held.
  var isAnswering: Bool { get }
  /// Whether no further input is processed.
  var isClosing: Bool { get }
  /// Whether the connection reads from its peer.
  var isReading: Bool { get }
  /// Whether the connection reads on during a request. Behind a response that may never end, it does not.
  var readsAhead: Bool { get }
  /// Handles the arrival of bytes that the codec has not parsed yet.
  func bytesArrived()
  /// Handles the end of the data that one event loop tick has read.
  func readPaused()
  /// Returns whether `sizeBytes` bytes that arrived behind the current request are kept.
  func keeps(behind sizeBytes: Int) -> Bool
  /// Handles the shutdown of the server.
  func quiesce()
}

/// The channel handler between the socket and the HTTP codec.
///
/// Reports arriving bytes and other events that the connection does not see. Holds bytes that arrive behind a request
/// in progress. Writes responses that must bypass compression, because the compressor expects exactly one response per
/// request head.
package final class HTTPGate: ChannelInboundHandler, RemovableChannelHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  private let connection: any HTTPGatedConnection
  private var context: ChannelHandlerContext?
  /// Bytes that arrived behind a request in progress, bounded by `HTTPGatedConnection.keeps(behind:)`. The rest stays
  /// in the socket buffer.
  private var held: ByteBuffer?

  package init(_ connection: any HTTPGatedConnection) { self.connection = connection }

  package func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// Writes a response past the codec, to input in which the codec found no request. The connection must then close.
  package func refuse(status: Int, contentType: String? = nil, body: ByteBuffer = ByteBuffer()) {
    let phrase = HTTPResponseStatus(statusCode: status).reasonPhrase
    var body = body
    var bytes = ByteBuffer(
      string: "HTTP/1.1 \(status) \(phrase)\r\nConnection: close\r\n"
        + (contentType.map { "Content-Type: \($0)\r\n" } ?? "") + "Content-Length: \(body.readableBytes)\r\n\r\n")
    bytes.writeBuffer(&body)
    context?.writeAndFlush(NIOAny(bytes), promise: nil)
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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
  package func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    connection.readPaused()
    if held == nil, connection.isReading, connection.readsAhead { context.read() }
  }

  /// Delivers the held bytes in a later tick, because the current one may still be writing the response.
  package func resume() {
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

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    let isQuiescing = event is ChannelShouldQuiesceEvent
    // An idle connection is closed at once, which would discard a response that is written but not flushed.
    if isQuiescing { context.flush() }
    context.fireUserInboundEventTriggered(event)
    if isQuiescing { connection.quiesce() }
  }
}

/// Writes interim responses, which do not belong to a request's head.
package final class HTTPBypass: ChannelOutboundHandler, RemovableChannelHandler {
  package typealias OutboundIn = HTTPServerResponsePart
  package typealias OutboundOut = HTTPServerResponsePart

  package init() {}

  package enum Event {
    /// 100 Continue.
    case goOn
  }

  package func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard let event = event as? Event else { return context.triggerUserOutboundEvent(event, promise: promise) }
    switch event {
    case .goOn:
      context.writeAndFlush(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }
    promise?.succeed()
  }
}

extension ChannelHandlerContext {
  /// Half-closes the connection, and closes it after 500 ms at the latest.
  ///
  /// Half-closing lets the peer read the response even if bytes of its request are still unread here.
  package func closeAfterFlush() {
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    eventLoop.scheduleTask(in: .milliseconds(500)) { bound.value.close(promise: nil) }
    close(mode: .output, promise: nil)
  }
}
