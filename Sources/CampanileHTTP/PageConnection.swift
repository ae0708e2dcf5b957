import NIOCore
import NIOHTTP1

/// A connection of a `PageServer`. Confined to its event loop.
final class PageConnection: ChannelInboundHandler, HTTPGatedConnection {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// Maximum number of bytes that are kept behind a request in progress.
  private static let bytesBehindMax = 64 * 1024

  private let server: PageServer
  private var state = HTTPExchangeState(now: .now())
  private var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
  /// The plan of the current request until it is carried out.
  private var plan: PagePlan?
  private var body = ByteBuffer()
  private var context: ChannelHandlerContext?
  private var gate: HTTPGate?
  private var timer: Scheduled<Void>?

  init(_ server: PageServer) { self.server = server }

  func makeGate() -> HTTPGate {
    let gate = HTTPGate(self)
    self.gate = gate
    return gate
  }

  // MARK: - channel events

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    server.add(context.channel, since: state.timing.since)
    schedule()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    server.remove(context.channel)
    state.abandon()
    self.context = nil
    gate = nil
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent {
      if state.isAnswering {
        state.endAfterResponse()
      } else {
        state.close()
        context.closeAfterFlush()
      }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    readPaused()
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable, state.isEndWaiting { finish() }
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is HTTPParserError { handle(state.parserFault, status: 400) } else { close() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !state.isClosing else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      // The decoder stops after a request for another protocol.
      let isUpgrade = head.method == .CONNECT || head.headers.contains(name: "upgrade")
      change { $0.begin(keepsAlive: head.isKeepAlive && !isUpgrade, now: .now()) }
      self.head = head
      plan = server.plan(head, context.remoteAddress?.ipAddress)
    case .body(var bytes):
      guard let bodyBytesMax = plan?.bodyBytesMax, let tooLarge = plan?.tooLarge else { return }
      body.writeBuffer(&bytes)
      guard body.readableBytes > bodyBytesMax else { return }
      plan = nil
      respond(tooLarge)
    case .end:
      guard state.requestEnded(streams: false) else { return }
      change { $0.timing.enter(.answering, now: .now()) }
      start()
    }
  }

  // MARK: - the gate's events

  var isAnswering: Bool { state.isAnswering }
  var isClosing: Bool { state.isClosing }
  var isReading: Bool { true }
  var readsAhead: Bool { true }

  func bytesArrived() { if !state.isClosing { change { $0.bytesArrived(now: .now()) } } }

  /// Responds before the end of the request if the rest of its body is not wanted.
  func readPaused() { if let plan, plan.bodyBytesMax == nil, !state.isRead { start() } }

  func keeps(behind sizeBytes: Int) -> Bool {
    guard state.isOpen, sizeBytes > Self.bytesBehindMax || !state.keepsAlive else { return true }
    state.endAfterResponse()
    return false
  }

  func quiesce() { state.quiesce() }

  // MARK: - responses

  private func start() {
    guard let plan, let context else { return }
    self.plan = nil
    let request = PageRequest(head: head, body: body)
    let number = state.number
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    let promise = context.eventLoop.makePromise(of: PageResponse.self)
    promise.completeWithTask { await plan.respond(request) }
    promise.futureResult.whenSuccess { response in
      if bound.value.state.number == number { bound.value.respond(response) }
    }
  }

  private func respond(_ response: PageResponse) {
    guard let context, state.sendHead() else { return }
    body = ByteBuffer()
    var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
    headers.add(name: "Content-Length", value: String(response.body.count))
    if headers["connection"].contains("close") { state.endAfterResponse() }
    // A peer that has asked for the end of the connection needs no notice of it.
    if state.closesAfterResponse, head.isKeepAlive, !headers.contains(name: "connection") {
      headers.add(name: "Connection", value: "close")
    }
    let status = HTTPResponseStatus(statusCode: response.status)
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
    if head.method != .HEAD, !response.body.isEmpty {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
    }
    context.flush()
    finish()
  }

  /// Ends the response. The end waits until the peer has read most of it, and so do further requests.
  private func finish() {
    guard let context else { return }
    // The state changes before the end is written, because the next request may arrive at once. A response before the
    // end of its request never waits: the body's timeout would write 408 into it.
    let isWritable = context.channel.isWritable || !state.isRead
    var end = HTTPExchangeState.End.close
    change { end = $0.end(isWritable: isWritable, now: .now()) }
    guard end != .wait else { return }
    let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    if end == .reuse {
      gate?.resume()
      return
    }
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    // The peer has as long to read the response as it may be idle.
    timer?.cancel()
    timer = context.eventLoop.scheduleTask(in: .milliseconds(server.limits.timeouts.idleTimeoutMs)) {
      bound.value.close(promise: nil)
    }
    written.whenComplete { _ in bound.value.closeAfterFlush() }
  }

  private func handle(_ fault: HTTPExchangeState.Fault, status: Int) {
    switch fault {
    case .ignore: break
    case .close: close()
    case .refuse, .refuseUnread:
      state.abandon()
      state.close()
      gate?.refuse(status: status)
      context?.closeAfterFlush()
    }
  }

  private func close() {
    state.close()
    context?.close(promise: nil)
  }

  // MARK: - timeouts

  private func change(_ body: (inout HTTPExchangeState) -> Void) {
    let former = state.timing.phase
    body(&state)
    guard state.timing.phase != former, let context else { return }
    server.update(context.channel, state.timing)
    schedule()
  }

  private func schedule() {
    timer?.cancel()
    guard let context else { return }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(deadline: state.timing.deadline(server.limits.timeouts)) {
      bound.value.expire()
    }
  }

  private func expire() {
    // The timer may fire at the very end of the phase, which `check` still permits.
    let now = NIODeadline.now() + .nanoseconds(1)
    handle(state.timeoutFault(server.limits.timeouts, now: now), status: 408)
  }
}
