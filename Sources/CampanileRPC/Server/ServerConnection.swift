import CampanileBase
import CampanileCodec
import Logging
import NIOCore
import Synchronization

#if TLS
  import NIOSSL
#endif

/// One connection of a server: decodes frames, passes calls to the dispatcher, and coalesces the responses of a read
/// batch into one write.
///
/// Confined to its event loop.
final class ServerConnection: CallTransport, ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let core: ServerCore
  let registry: ConnectionRegistry
  var state: ServerConnectionState<ServerCall>
  var decoder: FrameDecoder
  var channelContext: ChannelHandlerContext?
  var outgoing: ByteBuffer
  var isReadingBatch = false
  var isFlushScheduled = false
  var isClosing = false
  /// Bytes of responses in incomplete batches.
  var batchedBytes = 0
  /// Whether received frames wait: until the peer has read more responses, or for the connection's next turn.
  private var isPaused = false
  /// The time until which received frames wait at the dispatcher's request.
  private var restsUntil: NIODeadline?
  /// The principal of the connection's own credential, if it was opened with one.
  var principal: Principal?
  /// Whether a credential was presented for all calls of the connection.
  var hasOwnCredential = false
  /// The challenge that awaits the client's proof of the internal token.
  var challenge: HelloChallenge?
  /// The time at which the client's certificate expires, and the connection ends.
  var certificateEnd: NIODeadline?
  /// The number of bytes of a long frame at the last attempt to read its head.
  var judgedHeadBytes = 0
  /// Whether the current frame is a long one whose head was accepted.
  var isTakingLongFrame = false
  /// The connection's reservations in the process-wide budgets.
  var waiting = BudgetShare()
  var unread = BudgetShare()
  /// Unread bytes at the previous check.
  var queuedBytesBefore = 0
  let openedAt: NIODeadline
  /// The size above which a result is reserved until it is written.
  private(set) var longResultBytes: Int
  /// The length of the longest frame to send: the server's limit, or the client's if that is lower.
  private(set) var sentFrameBytesMax: Int
  private var trustedMetadata = TrustedMetadataCache()
  #if TLS
    /// The handler that holds the client's certificate, until the certificate was read.
    var clientTLS: NIOSSLServerHandler?
  #endif
  var timing: ConnectionTiming
  var batchTime: NIODeadline

  init(core: ServerCore, context: LoopContext, registry: ConnectionRegistry) {
    self.core = core
    self.registry = registry
    state = ServerConnectionState(limits: core.limits)
    decoder = FrameDecoder(frameBytesMax: core.limits.frameBytesMax)
    outgoing = ByteBuffer()
    batchTime = context.loop.now
    openedAt = batchTime
    sentFrameBytesMax = core.limits.frameBytesMax
    longResultBytes = min(64 * 1024, core.limits.frameBytesMax - 512)
    timing = ConnectionTiming(limits: core.limits, now: batchTime)
    super.init(context: context, limits: core.limits)
    if core.asksForCredentials { treatAsStranger() }
  }

  // MARK: responses to calls

  override func reply(to call: ServerCall, result: UnsafeRawBufferPointer) {
    reply(id: call.id, batch: call.batch, result: result)
  }
  override func reply(to call: ServerCall, error: RPCError) {
    reply(id: call.id, batch: call.batch, error: error)
  }
  override func reply(to call: ServerCall, rawError: UnsafeRawBufferPointer) {
    reply(id: call.id, batch: call.batch, rawError: rawError)
  }
  override func send(to call: ServerCall, message: UnsafeRawBufferPointer) {
    guard message.count <= sentFrameBytesMax - 512 else {
      return call.end(
        RPCError(
          .resourceExhausted, "the message of \(message.count) bytes is longer than a frame may be",
          reason: "RESULT_TOO_LARGE"))
    }
    write { call.sent(bytes: $0.writeMessageFrame(id: call.id, message: message)) }
  }
  override func grantCredit(to call: ServerCall, _ credit: StreamCredit) {
    write { $0.writeCreditFrame(id: call.id, credit) }
  }
  /// Grants the client more of the connection's credit once enough of it was read.
  override func queueShrank() {
    let bytes = state.connectionGrant(queuedBytes: queuedMessageBytes)
    if bytes > 0 { write { $0.writeConnectionCreditFrame(bytes: bytes) } }
  }
  override func callAnswered(_ call: ServerCall) {
    state.answered(call.id, streamed: call.hasStreamed)
  }
  override func handlerEnded() {
    state.handlerEnded()
    if state.isDraining { closeIfDrained() }
  }
  override func rest(until deadline: NIODeadline) { restsUntil = max(deadline, restsUntil ?? deadline) }
  override var isUnread: Bool { hasUnread }
  override var unreadBytesMax: Int { state.isTrusted ? core.limits.unreadBytesMaxTrusted : core.limits.unreadBytesMax }

  // MARK: channel events

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    remoteAddress = context.remoteAddress?.description ?? ""
  }

  func channelActive(context: ChannelHandlerContext) {
    registry.add(self)
    core.observer.connectionOpened()
    core.connectionCount.add(1, ordering: .relaxed)
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    do throws(ConnectionLimiter.Refusal) {
      ticket = try core.limiter.open(host: remoteHost) { [loop = context.eventLoop] in
        loop.execute { bound.value.giveWay() }
      }
      if registry.isDraining { startDrain() }
    } catch {
      close(error.rpcError(core.limiter))
    }
    context.fireChannelActive()
    readIfWritable(context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    isClosing = true
    registry.remove(self)
    core.connectionCount.subtract(1, ordering: .relaxed)
    ticket?.close()
    ticket = nil
    waiting.lower(to: 0, in: core.configuration.waitingBytes)
    unread.lower(to: 0, in: core.configuration.unreadBytes)
    core.observer.connectionClosed()
    for call in state.openCalls.all { call.end(Self.disconnected) }
    channelContext = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    core.logger.debug("connection failed", metadata: ["peer": "\(remoteAddress)", "error": "\(error)"])
    context.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return }
    isReadingBatch = true
    batchTime = self.context.readTime()
    timing.received(now: batchTime)
    take(unwrapInboundIn(data), framesMax: self.context.framesMax(for: self))
  }

  /// Serves the frames that `bytes` complete, while the peer reads the responses.
  func take(_ bytes: ByteBuffer, framesMax: Int) {
    if decoder.endsDropping(with: bytes) { timing.frameInProgress(false, completedFrame: true, now: batchTime) }
    if isPaused {
      decoder.keep(bytes)
      return reserveWaiting()
    }
    if isStranger { readOfStranger() }
    let isLong = isTakingLongFrame
    var frames = 0
    do throws(FrameDecoder.Fault) {
      try decoder.feed(bytes) { frame in
        frames += 1
        receive(frame: frame)
        isPaused = !isWritable || restsUntil != nil || frames == framesMax
        return !isPaused && !isClosing && !isLong
      }
      if isLong, frames > 0 {
        // The head of the next long frame is checked separately.
        judgeNextLongFrame()
        if !isPaused, !isClosing {
          self.context.served(frames: frames, of: self)
          timing.frameInProgress(false, completedFrame: true, now: batchTime)
          return take(ByteBuffer(), framesMax: framesMax - frames)
        }
      }
      if let restsUntil {
        resume(at: restsUntil)
      } else if isPaused {
        if isWritable, let channelContext { resumeSoon(channelContext) }
      } else {
        self.context.served(frames: frames, of: self)
      }
      // A frame that waits here is not late because of its peer.
      timing.frameInProgress(decoder.isInsideFrame && !isPaused, completedFrame: frames > 0, now: batchTime)
      if decoder.heldBytes > Self.unreservedBytesMax || waiting.reservedBytes > 0 { reserveWaiting() }
    } catch {
      if case .tooLarge(let length) = error, length <= core.limits.frameBytesMax, !isClosing {
        return takeLongFrame(ofBytes: length, framesServed: frames, framesMax: framesMax)
      }
      let message =
        switch error {
        case .empty: "a frame must not be empty"
        case .flags(let flags): "the frame's first byte is \(flags), but no flags are defined: it must be 0"
        case .tooLarge(let length):
          "a frame of \(length) bytes is longer than the limit of \(core.limits.frameBytesMax)"
        }
      let (code, reason): (RPCError.Code, String) =
        switch error {
        case .empty: (.invalidArgument, "FRAME_EMPTY")
        case .flags: (.invalidArgument, "FRAME_FLAGS_UNKNOWN")
        case .tooLarge: (.resourceExhausted, "FRAME_TOO_LARGE")
        }
      close(RPCError(code, message, reason: reason, processed: false))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReadingBatch = false
    flush(context: context)
    context.fireChannelReadComplete()
    readIfWritable(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    isWritable = context.channel.isWritable
    timing.writable(isWritable, now: self.context.loop.now)
    if isWritable {
      if unread.reservedBytes > 0 { releaseUnread() }
      for call in state.openCalls.all where call.outboundCredit.allowsMessage { call.handler?.canSend() }
      if isPaused { resumeSoon(context) } else { readIfWritable(context) }
    }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent {
      // Serve the frames that arrived before the end.
      serveWaiting(context, framesMax: .max)
      inputClosed()
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Reads are explicit: a peer that does not read its responses is not read from either.
  private func readIfWritable(_ context: ChannelHandlerContext) {
    if isWritable, !isPaused, !isClosing { context.read() }
  }

  /// Resumes in a later tick of the loop, because this one may be in the middle of a write.
  private func resumeSoon(_ context: ChannelHandlerContext) {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    context.eventLoop.execute { bound.value.resume() }
  }

  private func resume(at deadline: NIODeadline) {
    guard let loop = channelContext?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.assumeIsolated().scheduleTask(deadline: deadline) { bound.value.rested(until: deadline) }
  }

  private func rested(until deadline: NIODeadline) {
    guard restsUntil == deadline else { return }
    restsUntil = nil
    resume()
  }

  private func resume() {
    guard let channelContext else { return }
    batchTime = self.context.readTime()
    serveWaiting(channelContext, framesMax: self.context.framesMax(for: self))
    readIfWritable(channelContext)
  }

  /// Makes the received frames wait for the connection's next turn.
  func pause() {
    isPaused = true
    if let restsUntil {
      resume(at: restsUntil)
    } else if isWritable, let channelContext {
      resumeSoon(channelContext)
    }
  }

  /// Serves waiting frames unless something else blocks them.
  private func serveWaiting(_ channelContext: ChannelHandlerContext, framesMax: Int) {
    guard isPaused, restsUntil == nil, isWritable, !isClosing else { return }
    isPaused = false
    isReadingBatch = true
    take(ByteBuffer(), framesMax: framesMax)
    isReadingBatch = false
    flush(context: channelContext)
  }

  // MARK: frames

  var nowMs: Int64 { Int64(batchTime.uptimeNanoseconds / 1_000_000) }

  private func receive(frame: UnsafeRawBufferPointer) {
    if EnvelopeScanner.isBatch(frame) { return receiveBatch(frame) }
    let envelope: Envelope
    do throws(EnvelopeFault) { envelope = try EnvelopeScanner.scan(frame) } catch {
      return act(on: state.malformed(error, nowMs: nowMs), frame, nil, batch: nil)
    }
    receive(envelope, frame, batch: nil)
  }

  private func receiveBatch(_ frame: UnsafeRawBufferPointer) {
    let entries: [Range<Int>]
    do throws(EnvelopeFault) {
      entries = try EnvelopeScanner.batchEntries(frame, countMax: core.limits.batchEntriesMax)
    } catch {
      return act(on: state.malformed(error, nowMs: nowMs), frame, nil, batch: nil)
    }
    let batch = BatchReply()
    for range in entries where !isClosing {
      let entry = UnsafeRawBufferPointer(rebasing: frame[range])
      do throws(EnvelopeFault) { receive(try EnvelopeScanner.scan(entry), entry, batch: batch) } catch {
        act(on: state.malformed(error, nowMs: nowMs), entry, nil, batch: batch)
      }
    }
    finishOne(of: batch)
  }

  @inline(__always)
  private func receive(_ envelope: Envelope, _ frame: UnsafeRawBufferPointer, batch: BatchReply?) {
    guard envelope.hasMethod else {
      // A response to a ping has no effect beyond its arrival. Pings are not sent in batches, whose entries all get a
      // response. Its id is that of a ping, so the error must not carry it.
      if let batch {
        act(
          on: state.malformed("a batch contains requests, not responses", id: nil, nowMs: nowMs), frame, nil,
          batch: batch)
      }
      return
    }
    if envelope.methodHasEscapes {
      // Names never need escapes; resolving them gives every reader the same name.
      guard var name = EnvelopeScanner.resolve(frame, envelope.method) else {
        return act(
          on: state.malformed("method is not Unicode text", id: envelope.callID, nowMs: nowMs), frame, envelope,
          batch: batch)
      }
      name.withUTF8 { utf8 in
        let method = UnsafeRawBufferPointer(utf8)
        let rpc = RPCMethod(method, 0..<method.count)
        act(
          on: state.receive(envelope, rpcMethod: rpc, frame, nowMs: nowMs, isInBatch: batch != nil), frame, envelope,
          method: method, batch: batch)
      }
      return
    }
    let method = UnsafeRawBufferPointer(rebasing: frame[envelope.method])
    let rpc = RPCMethod(frame, envelope.method)
    act(
      on: state.receive(envelope, rpcMethod: rpc, frame, nowMs: nowMs, isInBatch: batch != nil), frame, envelope,
      method: method, batch: batch)
  }

  @inline(__always)
  func act(
    on action: ServerConnectionState<ServerCall>.Action, _ frame: UnsafeRawBufferPointer, _ envelope: Envelope?,
    method: UnsafeRawBufferPointer = .init(start: nil, count: 0), batch: BatchReply?
  ) {
    switch action {
    case .startCall(let id):
      if let envelope { startCall(id, envelope, method: method, frame, batch: batch) }
    case .deliver(let call, let range):
      call.received(message: UnsafeRawBufferPointer(rebasing: frame[range]), sizeBytes: frame.count)
      queueShrank()
    case .exceeds(let call):
      call.exceededCredit()
      queueShrank()
    case .halfClose(let call): call.receivedHalfClose()
    case .cancel(let call): call.end(RPCError(.cancelled, "the caller cancelled the call", reason: "CANCELLED"))
    case .credit(let call, let credit): call.received(credit: credit)
    case .discard: queueShrank()
    case .ignore: break
    case .pong(let id): pong(id, frame, batch: batch)
    case .hello(let id, let params): hello(id, params, frame)
    case .prove(let id, let params): prove(id, params, frame)
    case .refuse(let id, let error):
      batch?.add()
      reply(id: id, batch: batch, error: error)
    case .close(let error): close(error)
    }
  }

  private func pong(_ id: CallID, _ frame: UnsafeRawBufferPointer, batch: BatchReply?) {
    if batch?.takes(id) == false { return act(on: state.idInUse(id, nowMs: nowMs), frame, nil, batch: batch) }
    batch?.add()
    reply(id: id, batch: batch, result: .init(start: nil, count: 0))
  }

  private func startCall(
    _ id: CallID, _ envelope: Envelope, method: UnsafeRawBufferPointer, _ frame: UnsafeRawBufferPointer,
    batch: BatchReply?
  ) {
    if batch?.takes(id) == false { return act(on: state.idInUse(id, nowMs: nowMs), frame, nil, batch: batch) }
    var trusted = TrustedMetadata()
    var refusal: RPCError?
    if let range = envelope.metadata {
      do throws(RPCError) { trusted = try read(metadata: frame, range) } catch { refusal = error }
    }
    let requested = envelope.timeoutMs
    identifyByCertificate()
    if isStranger { ticket?.madeCall() }
    let call = ServerCall(
      transport: self, id: id, batch: batch, metadata: trusted.metadata, isTrusted: state.isTrusted,
      principal: state.isTrusted ? trusted.principal : principal, startedAt: batchTime)
    guard state.open(call, id: id) else { return act(on: state.idInUse(id, nowMs: nowMs), frame, nil, batch: batch) }
    batch?.add()
    if let requested, requested <= 0 {
      refusal = RPCError(
        .deadlineExceeded, "the deadline passed before the call arrived", reason: "DEADLINE_EXCEEDED", processed: false)
    }
    if let refusal {
      call.fail(refusal)
      call.handlerEnded()
      return
    }
    if let requested { call.setDeadline(timeoutMs: requested) }
    let params = envelope.params.map { UnsafeRawBufferPointer(rebasing: frame[$0]) } ?? .init(start: nil, count: 0)
    core.dispatcher.startCall(call, method: method, params: params)
  }

  private func read(metadata frame: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RPCError) -> TrustedMetadata {
    if state.isTrusted { return try trustedMetadata.read(frame, range) }
    var metadata = try Metadata(object: frame, range)
    metadata.removeReserved()
    return TrustedMetadata(metadata: metadata)
  }

  private func hello(_ id: CallID, _ range: Range<Int>?, _ frame: UnsafeRawBufferPointer) {
    let hello: HelloParams
    do throws(RPCError) { hello = try HelloParams(frame, range) } catch { return close(error, id: id) }
    if let frameBytesMax = hello.frameBytesMax {
      sentFrameBytesMax = min(core.limits.frameBytesMax, frameBytesMax)
      longResultBytes = min(64 * 1024, sentFrameBytesMax - 512)
    }
    if let announced = hello.streamCredit { outboundCredit = announced }
    if let token = hello.token {
      switch core.authenticator.authenticate(token: token, from: remoteHost) {
      case .trusted: trust()
      case .principal(let presented): adopt(presented, nil)
      case .credential(let presented, let object): adopt(presented, object)
      case .refused(let error): return close(error, id: id)
      }
    }
    if let nonce = hello.nonce {
      guard InternalTokenProof.isNonce(nonce) else {
        return close(
          .invalidField("nonce", "must be 32 random bytes in base64url without padding", reason: "NONCE_INVALID"),
          id: id)
      }
      challenge = core.authenticator.challenge(nonce: nonce)
    }
    let limits = core.limits
    let proofs = challenge.map { challenge in
      ",\"nonce\":\"\(challenge.nonce)\",\"proofs\":[\(challenge.proofs.map { "\"\($0)\"" }.joined(separator: ","))]"
    }
    let result =
      "{\"version\":\"\(HelloParams.version)\",\"agent\":\"\(core.configuration.agent)\",\"capabilities\":[],"
      + "\"maxFrameBytes\":\(limits.frameBytesMax),\"maxConcurrentCalls\":\(state.executingMax),"
      + "\"maxControlFrames\":\(state.controlFramesMax),\"maxMalformedRequests\":\(limits.malformedRequestsMax),"
      + "\"floodWindowMs\":\(limits.floodWindowMs),\"streamCredit\":{\"messages\":\(limits.streamCredit.messages),"
      + "\"bytes\":\(limits.streamCredit.bytes)},\"connectionCredit\":\(limits.connectionCreditBytes)\(proofs ?? "")}"
    Array(result.utf8).withUnsafeBytes { reply(id: id, batch: nil, result: $0) }
  }
}
