import CampanileBase
import CampanileCodec
import CampanileHTTP
import CampanileRPC
import Gateway
import NIOCore
import NIOHTTP1

/// An HTTP/1.1 connection that turns requests into calls to the gateway's dispatcher, and replies into responses.
///
/// It handles one request at a time; later requests wait in the socket buffer. Confined to its event loop.
final class HTTPConnection: CallTransport, ChannelInboundHandler, HTTPGatedConnection {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  let frontend: HTTPFrontend
  let loop: any EventLoop
  let connections: HTTPConnections
  private let operations: HTTPFrontend.Operations
  var channelContext: ChannelHandlerContext?
  var exchange: HTTPExchange?
  var state = HTTPExchangeState(now: .now())
  /// Address of the connection's peer, which may be a proxy.
  private(set) var peerAddress = ""
  var isReading = true
  private var isFlushScheduled = false
  private var lastDecision: RepeatableDecision?
  private var knownService: HTTPFrontend.Service?
  /// The reservation for unread bytes and its holder. The holder is set only while the connection is not writable.
  var unread = BudgetShare()
  var unreadHolder: String?
  /// Bytes that were queued for the caller at the previous timeout check.
  var queuedBytesBefore = 0
  /// Released with the channel.
  var gate: HTTPGate?

  init(
    frontend: HTTPFrontend, connections: HTTPConnections, loop: any EventLoop,
    operations: @escaping HTTPFrontend.Operations
  ) {
    self.frontend = frontend
    self.loop = loop
    self.connections = connections
    self.operations = operations
    super.init(loops: frontend.loops, loop: loop, limits: WireLimits())
  }

  var configuration: HTTPConfiguration { frontend.configuration }
  /// The dispatcher and the judge of requests; nil until they are attached. Cached after the first lookup.
  var service: HTTPFrontend.Service? {
    if knownService == nil { knownService = frontend.service }
    return knownService
  }
  var isAnswering: Bool { state.isAnswering }
  var isClosing: Bool { state.isClosing }
  var readsAhead: Bool { exchange?.style.isStream != true }

  // MARK: channel events

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    peerAddress = context.remoteAddress?.description ?? ""
    remoteAddress = peerAddress
    connections.add(self)
  }

  func channelActive(context: ChannelHandlerContext) {
    admit()
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    leave()
    connections.remove(self)
    channelContext = nil
    gate = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    state.close()
    callerDisconnected()
    leave()
    connections.remove(self)
    channelContext = nil
    context.fireChannelInactive()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    isWritable = context.channel.isWritable
    state.timing.writable(isWritable, now: .now())
    if isWritable {
      releaseUnread()
      if state.isEndWaiting { finish() } else { exchange?.call?.handler?.canSend() }
    }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A caller that closes its sending side has usually disconnected, and HTTP/1.1 has no other sign of that.
    if case ChannelEvent.inputClosed? = event as? ChannelEvent {
      callerDisconnected()
      close()
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? HTTPParserError else { return close() }
    let isOverflow = error == .headerOverflow
    let refusal = RPCError(
      .invalidArgument, isOverflow ? "the headers are too long" : "not an HTTP request",
      reason: isOverflow ? "HEADERS_TOO_LARGE" : "REQUEST_INVALID", processed: false)
    switch state.parserFault {
    case .ignore: break
    case .refuse: refuseAndClose(refusal)
    case .refuseUnread:
      // A proxy's connection has many callers, and this request does not identify one.
      remoteAddress = peerAddress
      if let exceeded = countUnread() { return refuseUnread(exceeded, status: HTTPStatusCode.of(exceeded.code)) }
      refuseUnread(refusal, status: isOverflow ? 431 : 400)
    case .close: close()
    }
  }

  func bytesArrived() { state.bytesArrived(now: .now()) }

  // MARK: requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !state.isClosing else { return }
    switch unwrapInboundIn(data) {
    case .head(let head): begin(head)
    case .body(let bytes): take(bytes)
    case .end: finishReading()
    }
  }

  private func begin(_ received: HTTPRequestHead) {
    let (head, isOfConsole) = frontend.console?.identified(received) ?? (received, false)
    // The decoder stops after a request for another protocol.
    state.begin(keepsAlive: head.isKeepAlive && !head.headers.contains(name: "upgrade"), now: .now())
    if isStranger { ticket?.madeCall() }
    if !configuration.trustedProxies.isEmpty { noteCaller(head) }
    var target = HTTPJudgedTarget()
    let exchange = HTTPExchange(
      head, decide(head, &target), policies: policies(received, isOfConsole: isOfConsole))
    self.exchange = exchange
    judge(exchange, target)
    state.timing.limitBody(toMs: bodyTimeoutMs(exchange))
    if let encoding = head.headers.first(name: "content-encoding")?.lowercased(), exchange.refusal == nil {
      exchange.isCompressed = encoding == "gzip" || encoding == "deflate"
      if !exchange.isCompressed, encoding != "identity" {
        exchange.refusal = HTTPRefusal(error: Self.encodingUnsupported, style: exchange.style)
      }
    }
    if let refusal = exchange.refusal {
      if isHurried(refusal, head) { refuseAndClose(refusal.error, headers: refusal.headers) }
      return
    }
    if startsEarly() { return }
    if let length = Self.length(head), length > bodyBytesMax(exchange) { return refuseAndClose(bodyTooLarge(exchange)) }
    if head.method == .CONNECT { return refuseAndClose(Self.noTunnels) }
    if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
      channelContext?.triggerUserOutboundEvent(HTTPBypass.Event.goOn, promise: nil)
    }
  }

  /// Returns the headers that tell browsers who may use the response. The console is never for other origins.
  private func policies(_ head: HTTPRequestHead, isOfConsole: Bool) -> [(String, String)] {
    if frontend.console?.owns(uri: head.uri) == true { return ConsoleFrontend.headers }
    return isOfConsole ? [] : configuration.crossOrigin.headers(for: head.headers.first(name: "origin"))
  }

  private static func length(_ head: HTTPRequestHead) -> Int? {
    head.headers.first(name: "content-length").flatMap { Int($0) }
  }

  /// Returns whether the refusal is sent before the body has been discarded: the body is long, or the sender waits for
  /// a response.
  private func isHurried(_ refusal: HTTPRefusal, _ head: HTTPRequestHead) -> Bool {
    if refusal.endsConnection || head.method == .CONNECT || head.headers.contains(name: "expect") { return true }
    if case .messages? = exchange?.plan?.params { return true }
    return Self.length(head).map { $0 > Self.passingBytesMax } ?? false
  }

  /// Starts a request that consumes its body as it arrives. Returns false for other requests.
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

  /// Decides how to handle a request.
  ///
  /// Repeated calls of one method have the same head and reuse the last decision, which depends on nothing else.
  /// Callers are still authenticated on each call.
  private func decide(_ head: HTTPRequestHead, _ target: inout HTTPJudgedTarget) -> HTTPDecision {
    if let lastDecision, lastDecision.fits(head) { return .call(lastDecision.plan) }
    let decision = frontend.planner.decide(head, &target)
    lastDecision = RepeatableDecision(decision, head)
    return decision
  }

  /// Sets the remote address for each request, because a proxy's connection carries the requests of many callers.
  private func noteCaller(_ head: HTTPRequestHead) {
    let proxies = configuration.trustedProxies
    let forwardedHost = proxies.client(peer: Self.host(of: peerAddress), values: head.headers[proxies.header.rawValue])
    remoteAddress = forwardedHost.map { "[IPv\($0.contains(":") ? 6 : 4)]/\($0):0" } ?? peerAddress
  }

  private func finishReading() {
    guard let exchange, state.requestEnded(streams: exchange.messages != nil) else { return }
    if let upload = exchange.upload { return upload.end() }
    state.timing.enter(.answering, now: .now())
    if let inflater = exchange.inflater {
      do throws(RPCError) { try inflater.finish() } catch {
        return exchange.messages == nil ? refuse(error) : abandon(error)
      }
    }
    if let messages = exchange.messages { return messages.complete() }
    if let refusal = exchange.refusal { return refuse(refusal.error, headers: refusal.headers) }
    switch exchange.decision {
    case .call(let plan): start(plan, exchange.body)
    case .dialect(let plan): start(plan, exchange.body)
    // Started with its head.
    case .upload: break
    case .answer(let status, let headers, let body): answer(status, headers, body)
    case .operations(let path): answerOperations(path)
    case .refusal(let refusal): refuse(refusal.error, headers: refusal.headers)
    }
  }

  private func start(_ plan: HTTPPlan, _ body: ByteBuffer) {
    let bytesMax = exchange.map { bodyBytesMax($0) } ?? 0
    releaseBody()
    guard let dispatcher = service?.dispatcher, let call = exchange?.call, !state.isQuiescing || !plan.style.isStream
    else {
      return refuse(Self.goingAway)
    }
    if let timeoutMs = plan.timeoutMs, timeoutMs == 0 {
      return refuse(Self.late)
    }
    if plan.takesBody { call.messageArrived() }
    if let timeoutMs = plan.timeoutMs { call.setDeadline(timeoutMs: timeoutMs) }
    var fault: RPCError?
    body.withUnsafeReadableBytes { bytes in
      do throws(RPCError) {
        try plan.withParams(bytes, bytesMax: bytesMax) { params in
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
    guard let calls = innerCalls() else { return refuse(Self.goingAway) }
    let number = state.number
    let bound = NIOLoopBound(self, eventLoop: loop)
    exchange?.task = Task { [loop] in
      let result: Result<DialectAnswer, RPCError>
      do throws(RPCError) { result = .success(try await plan.respond(Array(body.readableBytesView), calls)) } catch {
        result = .failure(error)
      }
      loop.execute { bound.value.finish(number, result) }
    }
  }

  /// Returns the interface for calls on behalf of the request's caller; nil if the request is not admitted or no
  /// dispatcher is attached.
  func innerCalls() -> InnerCalls? {
    guard let dispatcher = service?.dispatcher, let admitted = exchange?.admitted else { return nil }
    return InnerCalls(
      dispatcher: dispatcher, loops: frontend.loops, loop: loop, remoteAddress: remoteAddress,
      request: NIOLoopBound(admitted, eventLoop: loop))
  }

  private func finish(_ number: Int, _ result: Result<DialectAnswer, RPCError>) {
    guard state.number == number, exchange != nil else { return }
    switch result {
    case .success(let found): answer(found.status, found.headers.map { ($0.name, $0.value) }, found.body)
    case .failure(let error): fail(error)
    }
  }

  private func answerOperations(_ path: String) {
    let number = state.number
    let bound = NIOLoopBound(self, eventLoop: loop)
    let promise = loop.makePromise(of: HTTPAnswer?.self)
    promise.completeWithTask { [operations] in await operations(path) }
    promise.futureResult.whenSuccess { found in
      let connection = bound.value
      guard connection.state.number == number, connection.exchange != nil else { return }
      let found = found ?? HTTPAnswer(status: 404, contentType: "text/plain", body: [])
      connection.answer(
        found.status, [("Content-Type", found.contentType), ("Cache-Control", "no-store")], found.body)
    }
  }

  // MARK: ends

  /// Ends the response.
  ///
  /// The state is reset before the end is written, because the next request may arrive at once. If much of the response
  /// is unread, its end waits until the caller has read more; the next request waits too.
  func finish() {
    guard let channelContext else { return }
    let end = state.end(isWritable: isWritable, now: .now())
    guard end != .wait else { return flushSoon() }
    releaseBody()
    let ended = exchange
    let call = ended?.call
    exchange = nil
    ended?.upload?.fail(Self.disconnected)
    ended?.messages?.end()
    readAgain()
    channelContext.write(wrapOutboundOut(.end(nil)), promise: nil)
    if !isWritable, unreadHolder == nil { unreadHolder = holder(of: ended) }
    if end == .reuse {
      gate?.resume()
      flushSoon()
    } else {
      channelContext.flush()
      if isWritable || ended?.isUnread == true || reserveUnread() { closeAfterFlush() }
    }
    // The response was sent without the call's reply, because its messages were invalid.
    if let call, !call.isAnswered { call.abort(Self.disconnected) }
  }

  private func readAgain() {
    guard let deadline = state.takeRest() else { return read(true) }
    read(false)
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.assumeIsolated().scheduleTask(deadline: deadline) { bound.value.read(true) }
  }

  func callerDisconnected() {
    releaseBody()
    let call = exchange?.call
    exchange?.task?.cancel()
    exchange?.upload?.fail(Self.disconnected)
    exchange?.messages?.end()
    exchange = nil
    state.abandon()
    call?.abort(Self.disconnected)
  }

  /// Refuses new streams and ends streams without a deadline. Contents and other calls may finish.
  func quiesce() {
    state.quiesce()
    if let exchange, exchange.style.isStream, exchange.style != .content, exchange.call?.deadline == nil {
      exchange.call?.abort(Self.goingAway)
    }
  }

  func closeAfterFlush() {
    state.close()
    channelContext?.closeAfterFlush()
  }

  func close() {
    state.close()
    channelContext?.close(promise: nil)
  }

  /// Checks the timeouts and keeps event streams alive. Called about once a second.
  func checkTimeouts(now: NIODeadline) {
    guard !state.isClosing, checkUnread(now: now) else { return }
    switch state.timeoutFault(frontend.timeouts, now: now) {
    case .ignore:
      if let exchange, state.isHeadSent, exchange.style == .events, !state.isEndWaiting,
        now - exchange.lastWrite >= .milliseconds(configuration.pingMs), isWritable
      {
        ping()
      }
    case .close:
      callerDisconnected()
      close()
    case .refuse:
      refuseAndClose(exchange?.refusal?.error ?? Self.tooSlow, headers: exchange?.refusal?.headers ?? [])
    case .refuseUnread: refuseUnread(Self.tooSlow, status: 408)
    }
  }

  // MARK: replies of the call

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
    call.sent(bytes: message.count)
    guard exchange?.style.isStream == true else {
      // A method without a descriptor was assumed to be unary.
      let bound = NIOLoopBound(call, eventLoop: loop)
      return loop.execute { bound.value.abort(Self.isStream) }
    }
    sendMessage(message)
  }

  override var hasOneCaller: Bool { remoteAddress == peerAddress }

  override func rest(until deadline: NIODeadline) {
    // A proxy's connection carries requests of other callers behind this one.
    if hasOneCaller { state.rest(until: deadline) }
  }

  override func grantCredit(to call: ServerCall, _ credit: StreamCredit) { granted(call) }

  override var isUnread: Bool {
    !isWritable && queuedBytes > configuration.unreadBytesMax
  }
  var queuedBytes: Int {
    (try? channelContext?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }
  override var unreadBytesMax: Int { configuration.unreadBytesMax }

  /// Flushes once for everything written in this tick, then grants the backend as much credit again.
  func flushSoon() {
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    connections.flushSoon(self)
  }

  func flushNow() {
    isFlushScheduled = false
    channelContext?.flush()
    if !isWritable, !reserveUnread() { return }
    guard exchange?.hasSent == true, let call = exchange?.call else { return }
    exchange?.hasSent = false
    call.restoreOutboundCredit()
  }
}
