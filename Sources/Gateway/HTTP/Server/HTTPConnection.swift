import CampanileCodec
import CampanileRPC
import NIOCore
import NIOHTTP1
import NIOHTTPCompression

/// One HTTP/1.1 connection: requests in, calls out to the gateway's dispatcher, answers back in the form of the face asked.
///
/// One request at a time; what a caller sends behind it waits in the system. Confined to its event loop.
final class HTTPConnection: CallTransport, ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  let face: HTTPFace
  let loop: any EventLoop
  let connections: HTTPConnections
  private let operations: HTTPFace.Operations
  var channelContext: ChannelHandlerContext?
  var exchange: HTTPExchange?
  /// Counts requests, so that what was scheduled for one does not touch the next.
  private(set) var exchangeNumber = 0
  var timing: HTTPTiming
  /// Of the connection's other end, whoever makes the calls.
  private var peerAddress = ""
  private(set) var isClosing = false
  private(set) var isQuiescing = false
  var isReading = true
  /// Until when the next request waits because the dispatcher wants it so.
  private var restsUntil: NIODeadline?
  private var isFlushScheduled = false
  private var lastDecision: KeptDecision?
  /// Let go with the channel.
  var gate: HTTPGate?

  init(
    face: HTTPFace, connections: HTTPConnections, loop: any EventLoop, operations: @escaping HTTPFace.Operations
  ) {
    self.face = face
    self.loop = loop
    self.connections = connections
    self.operations = operations
    timing = HTTPTiming(face.configuration, now: .now())
    super.init(loops: face.loops, loop: loop, limits: WireLimits())
  }

  var configuration: HTTPConfiguration { face.configuration }
  /// Whether the request has come whole and its answer is not over.
  var isAnswering: Bool { exchange?.isRead == true }

  // MARK: channel events

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    peerAddress = context.remoteAddress?.description ?? ""
    remoteAddress = peerAddress
    connections.add(self)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    connections.remove(self)
    channelContext = nil
    gate = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    isClosing = true
    callerGone()
    connections.remove(self)
    channelContext = nil
    context.fireChannelInactive()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    isWritable = context.channel.isWritable
    timing.writable(isWritable, now: .now())
    if isWritable { exchange?.call?.handler?.canSend() }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Whoever closes its half is gone as a rule, and HTTP has no other way of telling it.
    if case ChannelEvent.inputClosed? = event as? ChannelEvent {
      callerGone()
      close()
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let error as HTTPParserError:
      let isOverflow = error == .headerOverflow
      let refusal = RPCError(
        .invalidArgument, isOverflow ? "the headers are too long" : "this is no HTTP request",
        reason: isOverflow ? "HEADERS_TOO_LARGE" : "REQUEST_INVALID", processed: false)
      guard exchange != nil else { return refuseUnread(refusal, status: isOverflow ? 431 : 400) }
      if exchange?.isHeadSent == true { close() } else { refuseAndClose(refusal) }
    case is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
      guard exchange?.isRead == false, exchange?.isHeadSent == false else { return close() }
      let isLimit = error as? NIOHTTPDecompression.DecompressionError == .limit
      refuseAndClose(isLimit ? bodyTooLarge : Self.bodyNotDecoded)
    default: close()
    }
  }

  func bytesArrived() { if timing.phase == .idle { timing.enter(.head, now: .now()) } }

  // MARK: requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return }
    switch unwrapInboundIn(data) {
    case .head(let head): begin(head)
    case .body(let bytes): take(bytes)
    case .end: finishReading()
    }
  }

  private func begin(_ head: HTTPRequestHead) {
    exchangeNumber += 1
    if !configuration.trustedProxies.isEmpty { noteCaller(head) }
    let crossOrigin = configuration.crossOrigin.headers(for: head.headers.first(name: "origin"))
    exchange = HTTPExchange(head, decide(head), crossOrigin: crossOrigin)
    timing.enter(.body, now: .now())
    if let encoding = head.headers.first(name: "content-encoding")?.lowercased(),
      !["identity", "gzip", "deflate"].contains(encoding), exchange?.refusal == nil
    {
      let style = exchange?.style ?? .rest
      exchange?.refusal = HTTPRefusal(error: Self.encodingUnsupported, style: style)
    }
    if exchange?.refusal == nil, startsEarly() { return }
    if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }), length > configuration.bodyBytesMax
    {
      let refusal = exchange?.refusal
      return refuseAndClose(refusal?.error ?? bodyTooLarge, headers: refusal?.headers ?? [])
    }
    if head.method == .CONNECT { return refuseAndClose(Self.noTunnels) }
    guard let expectation = head.headers.first(name: "expect") else { return }
    if let refusal = exchange?.refusal { return refuseAndClose(refusal.error, headers: refusal.headers) }
    if expectation.lowercased() == "100-continue" {
      channelContext?.triggerUserOutboundEvent(HTTPBypass.Event.goOn, promise: nil)
    }
  }

  /// Begins what takes its body as it comes.
  private func startsEarly() -> Bool {
    switch exchange?.decision {
    case .upload(let plan): start(plan)
    case .call(let plan):
      guard case .messages(let isGzip) = plan.params else { return false }
      start(plan, isGzip: isGzip)
    default: return false
    }
    return true
  }

  /// A caller that repeats its head, as one that calls a method again and again does, gets the decision of the last time: it
  /// depends on nothing else. Who calls is judged at each call.
  private func decide(_ head: HTTPRequestHead) -> HTTPDecision {
    if let lastDecision, lastDecision.fits(head) { return .call(lastDecision.plan) }
    let decision = face.planner.decide(head)
    lastDecision = KeptDecision(decision, head)
    return decision
  }

  /// A proxy's connection carries the requests of many callers.
  private func noteCaller(_ head: HTTPRequestHead) {
    let proxies = configuration.trustedProxies
    let told = proxies.client(peer: Self.host(of: peerAddress), values: head.headers[proxies.header.rawValue])
    remoteAddress = told.map { "[IPv\($0.contains(":") ? 6 : 4)]/\($0):0" } ?? peerAddress
  }

  private func take(_ bytes: ByteBuffer) {
    guard let exchange, !exchange.isHeadSent || exchange.messages != nil else { return }
    if let upload = exchange.upload { return take(bytes, into: upload) }
    if let messages = exchange.messages { return take(bytes, into: messages) }
    guard exchange.body.readableBytes + bytes.readableBytes <= configuration.bodyBytesMax else {
      return refuseAndClose(bodyTooLarge)
    }
    // What belongs to a request that is refused passes by.
    guard exchange.refusal == nil, exchange.takesBody else { return }
    connections.readingBytes += bytes.readableBytes
    guard connections.readingBytes <= configuration.readingBytesMax else {
      connections.readingBytes -= bytes.readableBytes
      return refuseAndClose(Self.overloaded)
    }
    var bytes = bytes
    self.exchange?.body.writeBuffer(&bytes)
  }

  private func finishReading() {
    guard let exchange, !exchange.isRead, !exchange.isHeadSent || exchange.messages != nil else { return }
    self.exchange?.isRead = true
    if let upload = exchange.upload { return upload.end() }
    timing.enter(.answering, now: .now())
    if let messages = exchange.messages { return messages.complete() }
    if let refusal = exchange.refusal { return refuse(refusal.error, headers: refusal.headers) }
    switch exchange.decision {
    case .call(let plan): start(plan, exchange.body)
    case .dialect(let plan): start(plan, exchange.body)
    // Begun with its head.
    case .upload: break
    case .answer(let status, let headers, let body): answer(status, headers, body)
    case .operations(let path): answerOperations(path)
    case .refusal(let refusal): refuse(refusal.error, headers: refusal.headers)
    }
  }

  private func start(_ plan: HTTPPlan, _ body: ByteBuffer) {
    releaseBody()
    guard let dispatcher = face.dispatcher, !isQuiescing || !plan.style.isStream else { return refuse(Self.goingAway) }
    if let timeoutMs = plan.timeoutMs, timeoutMs == 0 {
      return refuse(Self.late)
    }
    let call = ServerCall(transport: self, metadata: plan.metadata)
    exchange?.call = call
    if let timeoutMs = plan.timeoutMs { call.setDeadline(timeoutMs: timeoutMs) }
    var fault: RPCError?
    body.withUnsafeReadableBytes { bytes in
      do throws(RPCError) {
        try plan.withParams(bytes) { params in
          plan.method.withUnsafeBytes { dispatcher.startCall(call, method: $0, params: params) }
        }
      } catch { fault = error }
    }
    if let fault {
      call.fail(fault)
      return call.handlerEnded()
    }
    if exchange?.call === call { opened(plan) }
  }

  private func start(_ plan: DialectPlan, _ body: ByteBuffer) {
    releaseBody()
    guard let dispatcher = face.dispatcher else { return refuse(Self.goingAway) }
    let calls = InnerCalls(dispatcher: dispatcher, loops: face.loops, loop: loop, remoteAddress: remoteAddress)
    let number = exchangeNumber
    let bound = NIOLoopBound(self, eventLoop: loop)
    exchange?.task = Task { [loop] in
      let result: Result<DialectAnswer, RPCError>
      do throws(RPCError) { result = .success(try await plan.respond(Array(body.readableBytesView), calls)) } catch {
        result = .failure(error)
      }
      loop.execute { bound.value.finish(number, result) }
    }
  }

  private func finish(_ number: Int, _ result: Result<DialectAnswer, RPCError>) {
    guard exchangeNumber == number, exchange != nil else { return }
    switch result {
    case .success(let found): answer(found.status, found.headers.map { ($0.name, $0.value) }, found.body)
    case .failure(let error): fail(error)
    }
  }

  private func releaseBody() {
    guard let count = exchange?.body.readableBytes, count > 0 else { return }
    connections.readingBytes -= count
    exchange?.body = ByteBuffer()
  }

  private func answerOperations(_ path: String) {
    let number = exchangeNumber
    let bound = NIOLoopBound(self, eventLoop: loop)
    let promise = loop.makePromise(of: HTTPAnswer?.self)
    promise.completeWithTask { [operations] in await operations(path) }
    promise.futureResult.whenSuccess { found in
      let connection = bound.value
      guard connection.exchangeNumber == number, connection.exchange != nil else { return }
      let found = found ?? HTTPAnswer(status: 404, contentType: "text/plain", body: [])
      connection.answer(
        found.status, [("Content-Type", found.contentType), ("Cache-Control", "no-store")], found.body)
    }
  }

  // MARK: ends

  /// Ends the answer. With its end the next request may come at once, so all is in order before it is written.
  func finish() {
    guard let channelContext else { return }
    releaseBody()
    exchange?.upload?.fail(Self.gone)
    exchange?.messages?.end()
    readAgain()
    let isReusable = exchange?.keepsAlive == true && exchange?.isRead == true
    let call = exchange?.call
    exchange = nil
    isClosing = !isReusable
    timing.enter(.idle, now: .now())
    channelContext.write(wrapOutboundOut(.end(nil)), promise: nil)
    if isReusable {
      gate?.resume()
      flushSoon()
    } else {
      channelContext.flush()
      closeAfterFlush()
    }
    // One that was answered without it, because its messages cannot be read.
    if let call, !call.isAnswered { call.abort(Self.gone) }
  }

  private func readAgain() {
    guard let deadline = restsUntil else { return read(true) }
    restsUntil = nil
    read(false)
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.assumeIsolated().scheduleTask(deadline: deadline) { bound.value.read(true) }
  }

  private func callerGone() {
    releaseBody()
    let call = exchange?.call
    exchange?.task?.cancel()
    exchange?.upload?.fail(Self.gone)
    exchange?.messages?.end()
    exchange = nil
    call?.abort(Self.gone)
  }

  /// No new streams, and those without an end of their own end now; other calls finish.
  func quiesce() {
    isQuiescing = true
    exchange?.keepsAlive = false
    if let exchange, exchange.style.isStream, exchange.style != .content, exchange.call?.deadline == nil {
      exchange.call?.abort(Self.goingAway)
    }
  }

  /// Closes when the caller has read what was written, or soon.
  func closeAfterFlush() {
    isClosing = true
    guard let channelContext else { return }
    // Half-closing first lets the caller read the answer even when bytes of its request are still unread here.
    let bound = NIOLoopBound(channelContext, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(500)) { bound.value.close(promise: nil) }
    channelContext.close(mode: .output, promise: nil)
  }

  func close() {
    isClosing = true
    channelContext?.close(promise: nil)
  }

  /// Called about once a second.
  func sweep(now: NIODeadline) {
    guard !isClosing else { return }
    if !isWritable { timing.waits(bytes: queuedBytes, now: now) }
    switch timing.check(now: now) {
    case .fine:
      if let exchange, exchange.isHeadSent, exchange.style == .events,
        now - exchange.lastWrite >= .milliseconds(configuration.pingMs), isWritable
      {
        ping()
      }
    case .close:
      callerGone()
      close()
    case .tooSlow:
      if exchange == nil { refuseUnread(Self.tooSlow, status: 408) } else { refuseAndClose(Self.tooSlow) }
    }
  }

  // MARK: from the call

  override func reply(to call: ServerCall, result: UnsafeRawBufferPointer) {
    guard exchange?.call === call else { return }
    succeed(result)
  }

  override func reply(to call: ServerCall, error: RPCError) {
    guard exchange?.call === call else { return }
    fail(error)
  }

  override func send(to call: ServerCall, message: UnsafeRawBufferPointer) {
    guard exchange?.call === call else { return }
    guard exchange?.style.isStream == true else {
      // What no table describes was taken for a unary method.
      let bound = NIOLoopBound(call, eventLoop: loop)
      return loop.execute { bound.value.abort(Self.isStream) }
    }
    sendMessage(message)
  }

  override var hasOneCaller: Bool { remoteAddress == peerAddress }

  override func rest(until deadline: NIODeadline) {
    // A proxy's connection has the requests of others behind this one.
    if hasOneCaller { restsUntil = deadline }
  }

  override func grantCredit(to call: ServerCall, messages: Int) { granted(call, messages) }

  override var isUnread: Bool {
    !isWritable && queuedBytes > configuration.unreadBytesMax
  }
  private var queuedBytes: Int {
    (try? channelContext?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }
  override var unreadBytesMax: Int { configuration.unreadBytesMax }

  /// Flushes once for all that is written in this turn of the loop, and lets the backend send as much again.
  func flushSoon() {
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    connections.flushSoon(self)
  }

  func flushNow() {
    isFlushScheduled = false
    channelContext?.flush()
    guard let sentCount = exchange?.sentCount, sentCount > 0, let call = exchange?.call else { return }
    exchange?.sentCount = 0
    call.granted(messages: sentCount)
  }
}
