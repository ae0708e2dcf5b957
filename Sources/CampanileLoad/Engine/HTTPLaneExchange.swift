internal import NIOCore
internal import NIOHTTP1

/// Sends the requests of one channel, and puts its answers together.
final class HTTPLaneExchange: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let owner: HTTPLaneConnection
  private let generation: Int
  /// Tells the decoder what an answer is to.
  private let head: HTTPRequestHead
  private var context: ChannelHandlerContext?
  /// What the next head stands for.
  fileprivate var request = ByteBuffer()
  private var status = 0
  private var keepsAlive = true
  private var body: [UInt8] = []

  /// The longest answer that is read.
  private static let bodyBytesMax = 64 << 20

  init(owner: HTTPLaneConnection, generation: Int, head: HTTPRequestHead) {
    self.owner = owner
    self.generation = generation
    self.head = head
  }

  /// Sends a whole request, which is given up with the channel.
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
        return owner.lost("an answer of more than \(Self.bodyBytesMax) bytes", generation)
      }
      body.append(contentsOf: bytes.readableBytesView)
    case .end:
      // 1xx answers come before the one that counts (RFC 9110 section 15.2).
      if status >= 200 { owner.answered(status, body, keepsAlive: keepsAlive, generation) }
    }
  }

  func channelInactive(context: ChannelHandlerContext) { owner.lost("the server closed the connection", generation) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { owner.lost("\(error)", generation) }
}

/// Writes the request that a head stands for, as one buffer: of many small ones the pipeline would be most of a request's cost.
final class HTTPRequestWriter: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = ByteBuffer

  private let exchange: HTTPLaneExchange

  init(_ exchange: HTTPLaneExchange) { self.exchange = exchange }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let request = exchange.request
    // The lane's buffer is filled again in place when nobody else has it.
    exchange.request = ByteBuffer()
    context.write(wrapOutboundOut(request), promise: promise)
  }
}
