import CampanileBase
internal import NIOCore

/// A connection to a server: decodes received frames and batches frames to write.
///
/// All frames of one event loop tick share one buffer and one write. At most one write is in flight, so that after a
/// lost connection it is known which requests the server cannot have seen.
final class ClientConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let owner: LoopClient
  /// Observes the connection's state; `nil` once it was notified of the end.
  private var slot: ConnectionSlot?
  private let configuration: ClientConfiguration
  private let prover: HelloProver?
  private var state: ClientConnectionState<OpenClientCall>
  private var decoder: FrameDecoder
  private var keepAlive: KeepAlive
  private var cancels: CancelBudget
  private var context: ChannelHandlerContext?
  private var out = ByteBuffer()
  private var writingBytes = 0
  private var isWriting = false
  private var isReading = false
  private var isFlushScheduled = false
  private var isFull = false
  private var keepAliveTimer: Scheduled<Void>?
  private var closeCause: RPCError?

  init(slot: ConnectionSlot, owner: LoopClient) {
    self.slot = slot
    self.owner = owner
    configuration = owner.resources.configuration
    let now = owner.loop.now
    prover = owner.resources.makeProver()
    state = ClientConnectionState(
      openCallsMax: configuration.openCallsMax, hasToken: configuration.presentedToken != nil,
      streamCredit: configuration.streamCredit, prover: prover)
    decoder = FrameDecoder(frameBytesMax: configuration.frameBytesMax)
    keepAlive = KeepAlive(configuration.keepAlive, now: now)
    cancels = CancelBudget(ServerHello(), now: now)
  }

  @inline(__always) var hasRoom: Bool { state.hasRoom }
  var openCount: Int { state.openCount }
  private var bufferedBytes: Int { writingBytes + out.readableBytes }

  // MARK: - calls

  /// Sends a call's request. Returns the reason if it cannot be sent, in which case nothing was written.
  @inline(__always)
  func open(
    _ call: OpenClientCall, method: String, params: UnsafeRawBufferPointer, metadata: Metadata,
    rawMetadata: UnsafeRawBufferPointer, now: NIODeadline
  ) -> RPCError? {
    var timeoutMs: Int64?
    if let deadline = call.deadline {
      let remaining = deadline.remainingMs(now: now)
      guard remaining > 0 else { return LocalFailure.deadlineExceeded(processed: false) }
      timeoutMs = remaining
    }
    guard bufferedBytes + params.count <= configuration.bufferedBytesMax else {
      return LocalFailure.full("\(bufferedBytes) bytes of requests are waiting to be sent")
    }
    guard let id = state.open(call, kind: call.kind) else {
      return RPCError(.unavailable, "the connection accepts no calls", reason: "CONNECTION_LOST", processed: false)
    }
    let before = out.writerIndex
    let sizeBytes = out.writeCallFrame(
      id: id, method: method, params: params, timeoutMs: timeoutMs, metadata: metadata, rawMetadata: rawMetadata)
    guard sizeBytes <= state.hello.frameBytesMax else {
      out.moveWriterIndex(to: before)
      _ = state.forget(id)
      return LocalFailure.frameTooLarge(sizeBytes, state.hello.frameBytesMax)
    }
    call.opened(self, id: id)
    flushSoon()
    return nil
  }

  func sendCredit(_ id: UInt64) -> StreamCredit { isFull ? .zero : state.sendCredit(id) }
  func receiveCredit(_ id: UInt64) -> StreamCredit { state.receiveCredit(id) }
  func wasHandedOver(_ id: UInt64) -> Bool { state.wasHandedOver(id) }

  func send(_ message: UnsafeRawBufferPointer, id: UInt64, of call: OpenClientCall) -> Bool {
    guard bufferedBytes + message.count <= configuration.bufferedBytesMax else {
      isFull = true
      return false
    }
    // The envelope around the message is shorter than 128 bytes.
    guard message.count + 128 <= state.hello.frameBytesMax else {
      call.abort(LocalFailure.frameTooLarge(message.count + 128, state.hello.frameBytesMax))
      return false
    }
    guard state.maySend(id) else { return false }
    state.sent(id, bytes: out.writeMessageFrame(id: .number(id), message: message))
    flushSoon()
    return true
  }

  func halfClose(_ id: UInt64) {
    out.writeCallControlFrame("rpc.end", id: .number(id))
    flushSoon()
  }

  func grantCredit(_ credit: StreamCredit, id: UInt64) {
    guard let grant = state.grant(id, credit) else { return }
    out.writeCreditFrame(id: .number(id), grant)
    flushSoon()
  }

  /// Removes a call that has ended on this side.
  func leave(_ id: UInt64, tellingServer: Bool) {
    guard state.forget(id) else { return }
    if tellingServer, cancels.admit(id, now: owner.loop.now) {
      out.writeCallControlFrame("rpc.cancel", id: .number(id))
      flushSoon()
    }
    callEnded()
  }

  @inline(__always)
  private func callEnded() {
    if state.isDrained { close(LocalFailure.connectionLost("drained", processed: false)) }
    owner.callEnded()
  }

  // MARK: - writing

  @inline(__always)
  private func flushSoon() {
    guard !isReading, !isFlushScheduled, !isWriting, let context else { return }
    isFlushScheduled = true
    // Runs after the work that is already queued, so that its frames join this write.
    context.eventLoop.assumeIsolated().execute {
      self.isFlushScheduled = false
      self.flush()
    }
  }

  private func flush() {
    guard out.readableBytes > 0, !isWriting, state.phase != .closed, let context else { return }
    let bytes = out
    out.moveReaderIndex(to: out.writerIndex)
    isWriting = true
    writingBytes = bytes.readableBytes
    state.handedOver()
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { _ in self.wrote() }
    context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
    recycle()
  }

  /// Reuses the buffer's memory unless it has grown beyond 256 KiB.
  private func recycle() {
    guard out.readableBytes == 0 else { return }
    if out.capacity > 256 * 1024 { out = ByteBuffer() } else if !isWriting { out.clear() }
  }

  private func wrote() {
    isWriting = false
    writingBytes = 0
    if isFull, bufferedBytes < configuration.bufferedBytesMax / 2 {
      isFull = false
      creditAll()
    }
    flush()
  }

  /// Notifies the streams that messages may be sent again.
  private func creditAll() {
    for call in state.openCalls where call.kind.streamsRequests { call.credited(.zero) }
  }

  // MARK: - reading

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive { greet() }
  }

  func channelActive(context: ChannelHandlerContext) { greet() }

  private func greet() {
    guard out.readableBytes == 0, keepAliveTimer == nil else { return }
    out.writeHelloFrame(
      agent: configuration.agent, frameBytesMax: configuration.frameBytesMax, streamCredit: configuration.streamCredit,
      token: configuration.presentedToken, nonce: prover?.nonce)
    flush()
    watch(at: owner.loop.now + keepAlive.interval)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isReading = true
    guard state.phase != .closed else { return }
    do throws(FrameDecoder.Fault) {
      try decoder.feed(unwrapInboundIn(data)) { frame in
        take(frame)
        return state.phase != .closed
      }
    } catch {
      let what =
        switch error {
        case .empty: "an empty frame"
        case .flags(let flags): "a frame with the flags \(flags)"
        case .tooLarge(let sizeBytes): "a frame of \(sizeBytes) bytes"
        }
      close(LocalFailure.peerMalformed(what))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReading = false
    keepAlive.received(now: owner.loop.now)
    flush()
  }

  @inline(__always)
  private func take(_ frame: UnsafeRawBufferPointer) {
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: frame[range]) }
    switch state.receive(frame) {
    case .ignore: break
    case .finish(let call, let range):
      call.finish(part(range))
      callEnded()
    case .fail(let call, let range):
      call.fail(RPCError(errorObject: frame, range), raw: part(range))
      callEnded()
    case .deliver(let call, let range): call.received(part(range), sizeBytes: frame.count)
    case .credit(let call, let credit): call.credited(credit)
    case .creditAll: creditAll()
    case .abort(let call, let id, let error):
      if cancels.admit(id, now: owner.loop.now) { out.writeCallControlFrame("rpc.cancel", id: .number(id)) }
      call.fail(error, raw: nil)
      callEnded()
    case .ready:
      cancels = CancelBudget(state.hello, now: owner.loop.now)
      slot?.connected(self)
    case .prove(let proof): out.writeProveFrame(proof)
    case .pong(let id): out.writeResultFrame(id: id, result: UnsafeRawBufferPointer(start: nil, count: 0))
    case .refuse(let id):
      let error = RPCError(
        .unimplemented, "a client has no methods", reason: "METHOD_UNKNOWN", processed: false,
        protocolFailure: .unknownMethod)
      out.writeErrorFrame(id: id, error)
    case .drain: drain()
    case .close(let error): close(error)
    }
    // A server that sends requests and never reads would let this buffer grow without bound.
    if bufferedBytes > configuration.bufferedBytesMax + configuration.frameBytesMax {
      close(LocalFailure.peerMalformed("it does not read"))
    }
  }

  /// Opens no more calls, and closes the connection after the last one.
  func retire() {
    if !state.retire() || state.isDrained { close(LocalFailure.closed(processed: false)) }
  }

  private func drain() {
    slot?.draining(self)
    if state.isDrained { close(LocalFailure.connectionLost("drained", processed: false)) }
  }

  // MARK: - the end

  private func watch(at due: NIODeadline) {
    guard state.phase != .closed, let context else { return }
    keepAliveTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { self.checkLiveness() }
  }

  private func checkLiveness() {
    let now = owner.loop.now
    for id in cancels.due(now: now) { out.writeCallControlFrame("rpc.cancel", id: .number(id)) }
    switch keepAlive.check(now: now, hasCalls: state.openCount > 0) {
    case .wait(let until): watch(at: until)
    case .ping(let until):
      out.writePingFrame()
      watch(at: until)
    case .dead:
      close(LocalFailure.connectionLost("the server did not respond to a ping", processed: true))
    }
    flushSoon()
  }

  /// Closes the connection and fails its calls.
  func close(_ cause: RPCError) {
    guard state.phase != .closed else { return }
    closeCause = closeCause ?? cause
    let context = context
    ended()
    context?.close(promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    close(LocalFailure.connectionLost("\(error)", processed: true))
  }

  func channelInactive(context: ChannelHandlerContext) { ended() }

  func handlerRemoved(context: ChannelHandlerContext) {
    ended()
    self.context = nil
  }

  private func ended() {
    guard state.phase != .closed else { return }
    let cause = closeCause ?? LocalFailure.connectionLost("the server closed it", processed: true)
    let calls = state.close()
    keepAliveTimer?.cancel()
    keepAliveTimer = nil
    let slot = slot
    self.slot = nil
    // The link is notified first, so that calls which are retried do not find this connection.
    slot?.lost(self, cause)
    owner.lost(self)
    for (call, handedOver) in calls {
      var error = cause
      if error.code != .unavailable { error = LocalFailure.connectionLost(cause.description, processed: true) }
      error.processed = handedOver
      call.fail(error, raw: nil)
    }
  }
}
