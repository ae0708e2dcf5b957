internal import NIOCore
internal import NIOHTTP1

/// Sends the requests of a channel and assembles the responses.
final class HTTPWorkerExchange: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let owner: HTTPWorkerConnection
  private let generation: Int
  /// The request head for the response decoder, which must know the method.
  private let head: HTTPRequestHead
  private var context: ChannelHandlerContext?
  /// The encoded request that is written instead of the next head.
  fileprivate var request = ByteBuffer()
  private var status = 0
  private var keepsAlive = true
  private var body: [UInt8] = []

  /// Maximum size of a response body.
  private static let bodyBytesMax = 64 << 20

  init(owner: HTTPWorkerConnection, generation: Int, head: HTTPRequestHead) {
    self.owner = owner
    self.generation = generation
    self.head = head
  }

  /// Sends an encoded request. If the channel is closed, the request is dropped.
  func send(_ request: ByteBuffer) {
    self.request = request
    context?.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
  }

  func close() { context?.close(promise: nil) }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      status = Int(head.status.code)
      keepsAlive = head.isKeepAlive
      body.removeAll(keepingCapacity: true)
    case .body(let bytes):
      guard body.count + bytes.readableBytes <= Self.bodyBytesMax else {
        return owner.lost("the response exceeds \(Self.bodyBytesMax) bytes", generation)
      }
      body.append(contentsOf: bytes.readableBytesView)
    case .end:
      // 1xx responses precede the final one (RFC 9110 section 15.2).
      if status >= 200 { owner.answered(status, body, keepsAlive: keepsAlive, generation) }
    }
  }

  func channelInactive(context: ChannelHandlerContext) { owner.lost("the server closed the connection", generation) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { owner.lost("\(error)", generation) }
}

/// Replaces a request head by the encoded request in a single buffer.
///
/// With many small buffers, the pipeline would cause most of a request's cost.
final class HTTPRequestWriter: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = ByteBuffer

  private let exchange: HTTPWorkerExchange

  init(_ exchange: HTTPWorkerExchange) { self.exchange = exchange }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let request = exchange.request
    // Release the reference, so that the connection can refill its buffer in place.
    exchange.request = ByteBuffer()
    context.write(wrapOutboundOut(request), promise: promise)
  }
}
