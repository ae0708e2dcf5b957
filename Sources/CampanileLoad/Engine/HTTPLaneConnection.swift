internal import CampanileRPC
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// One lane's connection over HTTP/1.1: at most one request at a time. Opened when first needed and again when it is lost.
final class HTTPLaneConnection {
  private let lane: LoadLane
  private let target: HTTPTarget
  private let sslContext: NIOSSLContext?
  private let loop: any EventLoop
  private var channel: (any Channel)?
  /// Counts the channels, so that a former one is not heard any more.
  private var generation = 0
  private var isBusy = false
  /// When the request's time is up; of a connection that is idle, of its last one.
  private var deadline = NIODeadline.uptimeNanoseconds(0)
  private var timeoutMs: Int64 = 0
  private var isTimed = false
  /// The last request's head with its length, which is mostly the next one's too.
  private var head: (bodyBytes: Int, head: HTTPRequestHead)?

  init(_ lane: LoadLane, target: HTTPTarget, sslContext: NIOSSLContext?, loop: any EventLoop) {
    self.lane = lane
    self.target = target
    self.sslContext = sslContext
    self.loop = loop
  }

  func send(head: HTTPRequestHead, body: [UInt8], timeoutMs: Int64) {
    let request = HTTPRequest(head: complete(head, bodyBytes: body.count), body: ByteBuffer(bytes: body))
    isBusy = true
    self.timeoutMs = timeoutMs
    deadline = .now() + .milliseconds(timeoutMs)
    watchDeadline()
    if let channel { request.write(to: channel) } else { connect(sending: request) }
  }

  private func complete(_ base: HTTPRequestHead, bodyBytes: Int) -> HTTPRequestHead {
    if let head, head.bodyBytes == bodyBytes { return head.head }
    var made = base
    made.headers.add(name: "content-length", value: String(bodyBytes))
    head = (bodyBytes, made)
    return made
  }

  /// One timer for a connection: answers come long before it, and one for each request would cost more than the rest of it.
  private func watchDeadline() {
    guard !isTimed else { return }
    isTimed = true
    loop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
      isTimed = false
      guard isBusy else { return }
      guard deadline <= .now() else { return watchDeadline() }
      drop()
      end(CallEnd(status: RPCError.Code.deadlineExceeded.rawValue, message: "no answer within \(timeoutMs) ms"))
    }
  }

  private func connect(sending request: HTTPRequest) {
    generation += 1
    let generation = generation
    let handler = NIOLoopBound(HTTPAnswerReader(owner: self, generation: generation), eventLoop: loop)
    let bound = NIOLoopBound(self, eventLoop: loop)
    ClientBootstrap(group: loop)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { [sslContext, name = target.tls?.serverName(for: target.host)] channel in
        channel.eventLoop.makeCompletedFuture {
          if let sslContext {
            try channel.pipeline.syncOperations.addHandler(
              NIOSSLClientHandler(context: sslContext, serverHostname: name))
          }
          try channel.pipeline.syncOperations.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
          try channel.pipeline.syncOperations.addHandler(handler.value)
        }
      }
      .connect(host: target.host, port: target.port)
      .whenComplete { result in bound.value.connected(result, generation, sending: request) }
  }

  private func connected(_ result: Result<any Channel, any Error>, _ generation: Int, sending request: HTTPRequest) {
    switch result {
    case .success(let opened) where generation == self.generation && isBusy:
      channel = opened
      request.write(to: opened)
    case .success(let unwanted): unwanted.close(promise: nil)
    case .failure(let error): lost("cannot connect: \(error)", generation)
    }
  }

  func answered(_ status: Int, _ body: [UInt8], keepsAlive: Bool, _ generation: Int) {
    guard generation == self.generation else { return }
    if !keepsAlive { drop() }
    let result = ConnectStatus.end(status: status, body: body)
    body.withUnsafeBytes { end(result, reply: $0) }
  }

  func lost(_ why: String, _ generation: Int) {
    guard generation == self.generation else { return }
    drop()
    end(CallEnd(status: RPCError.Code.unavailable.rawValue, message: why, isLocal: true))
  }

  private func end(_ result: CallEnd, reply: UnsafeRawBufferPointer? = nil) {
    guard isBusy else { return }
    isBusy = false
    lane.finished(result, reply: result.status == 0 ? reply : nil)
  }

  private func drop() {
    generation += 1
    channel?.close(promise: nil)
    channel = nil
  }

  /// Ends what goes on, without telling the lane.
  func close() {
    isBusy = false
    drop()
  }
}

/// A request with its length.
private struct HTTPRequest: Sendable {
  var head: HTTPRequestHead
  var body: ByteBuffer

  func write(to channel: any Channel) {
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    channel.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil)
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
  }
}

/// Puts the answers of one channel together.
private final class HTTPAnswerReader: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let owner: HTTPLaneConnection
  private let generation: Int
  private var status = 0
  private var keepsAlive = true
  private var body: [UInt8] = []

  /// The longest answer that is read.
  private static let bodyBytesMax = 64 << 20

  init(owner: HTTPLaneConnection, generation: Int) {
    self.owner = owner
    self.generation = generation
  }

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
