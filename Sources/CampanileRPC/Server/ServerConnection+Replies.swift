import CampanileCodec
import NIOCore

// What calls, the registry and the state machine's actions have the connection send.
extension ServerConnection {
  func callAnswered(_ call: ServerCall) {
    guard let id = call.id else { return }
    state.answered(id, streamed: call.hasStreamed)
    if isInputClosed, state.openCalls.isEmpty { scheduleClose() }
  }

  func handlerEnded() {
    state.handlerEnded()
    if state.isDraining { closeIfDrained() }
  }

  // MARK: answers; one that belongs to a batch waits there for the others

  func reply(id: CallID, batch: BatchReply?, result: UnsafeRawBufferPointer) {
    // What an envelope adds to the longest id is well below this.
    guard result.count <= core.limits.frameBytesMax - 512 else {
      return reply(
        id: id, batch: batch,
        error: RPCError(
          .resourceExhausted, "the result of \(result.count) bytes is longer than a frame may be",
          reason: "RESULT_TOO_LARGE"))
    }
    guard let batch else { return write { $0.writeResultFrame(id: id, result: result) } }
    batch.write { $0.writeResult(id: id, result: result) }
    finishOne(of: batch)
  }

  func reply(id: CallID, batch: BatchReply?, message: some ProtoMessage) {
    scratch.removeAll(keepingCapacity: true)
    message.encode(to: &scratch)
    scratch.withUnsafeBytes { reply(id: id, batch: batch, result: $0) }
  }

  func reply(id: CallID?, batch: BatchReply?, error: RPCError) {
    guard let batch else { return write { $0.writeErrorFrame(id: id, error) } }
    batch.write { $0.writeError(id: id, error) }
    finishOne(of: batch)
  }

  func reply(id: CallID, batch: BatchReply?, rawError: UnsafeRawBufferPointer) {
    guard let batch else { return write { $0.writeErrorFrame(id: id, rawError: rawError) } }
    batch.write { $0.writeError(id: id, rawError: rawError) }
    finishOne(of: batch)
  }

  func finishOne(of batch: BatchReply) {
    guard let answers = batch.finishOne() else { return }
    write { buffer in
      let frame = buffer.beginFrame()
      buffer.writeImmutableBuffer(answers)
      buffer.endFrame(frame)
    }
  }

  // MARK: streams

  func send(id: CallID, message: UnsafeRawBufferPointer) {
    write { $0.writeMessageFrame(id: id, message: message) }
  }

  func send(id: CallID, message: some ProtoMessage) {
    scratch.removeAll(keepingCapacity: true)
    message.encode(to: &scratch)
    scratch.withUnsafeBytes { send(id: id, message: $0) }
  }

  func grantCredit(id: CallID, messages: Int) {
    write { $0.writeCreditFrame(id: id, messages: messages) }
  }

  // MARK: ending

  /// Answers with an error and closes once it is written. Nothing is read any more.
  func close(_ error: RPCError, id: CallID? = nil) {
    guard !isClosing else { return }
    write { $0.writeErrorFrame(id: id, error) }
    closeAfterFlush()
  }

  func closeAfterFlush() {
    guard !isClosing, let channelContext else { return }
    isClosing = true
    flush(context: channelContext)
    // Half-closing first lets the peer read the error even when bytes of it are still unread here.
    let bound = NIOLoopBound(channelContext, eventLoop: channelContext.eventLoop)
    channelContext.eventLoop.scheduleTask(in: .milliseconds(50)) { bound.value.close(promise: nil) }
    channelContext.close(mode: .output, promise: nil)
  }

  func startDrain() {
    guard !state.isDraining, !isClosing else { return }
    state.drain()
    let lastID = state.lastAcceptedID
    write { $0.writeDrainFrame(lastID: lastID) }
    closeIfDrained()
  }

  /// After a drain the client closes. A little later the server does, so that calls under way get their refusal.
  func closeIfDrained() {
    guard state.isDrained, !isClosing, let loop = channelContext?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(200)) {
      if bound.value.state.isDrained { bound.value.closeAfterFlush() }
    }
  }

  /// The peer will send nothing more. Answers under way still go out; an idle connection is closed at once.
  func inputClosed() {
    isInputClosed = true
    if state.openCalls.isEmpty { closeAfterFlush() }
  }

  /// Closes in the loop's next turn, when the answer that is being written has gone out.
  private func scheduleClose() {
    guard let loop = channelContext?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.execute { bound.value.closeAfterFlush() }
  }

  /// Closes without a word: for peers that do not answer or do not read.
  func abandon() { channelContext?.close(promise: nil) }

  /// Looks after what takes too long. Called about once a second.
  func sweep(now: NIODeadline) {
    guard !isClosing else { return }
    switch timing.check(now: now) {
    case .none: break
    case .ping:
      write {
        $0.writeRequestFrame(
          id: .string("ping"), method: "rpc.ping", params: .init(start: nil, count: 0), timeoutMs: nil, metadata: [:])
      }
    case .abandon: abandon()
    case .frameTooSlow:
      close(
        RPCError(
          .deadlineExceeded, "a frame was not complete within \(core.limits.frameTimeoutMs) ms",
          reason: "FRAME_TOO_SLOW",
          processed: false))
    }
  }

  // MARK: writing

  /// Appends to what goes out with the next flush: at the end of the read batch, or of the loop's turn outside of one.
  func write(_ body: (inout ByteBuffer) -> Void) {
    guard let channelContext, !isClosing else { return }
    body(&outgoing)
    if isReadingBatch {
      // A batch of large answers goes out in parts, so that writability is noticed.
      if outgoing.readableBytes > 256 * 1024 { flush(context: channelContext) }
      return
    }
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    let bound = NIOLoopBound(self, eventLoop: channelContext.eventLoop)
    channelContext.eventLoop.execute { bound.value.scheduledFlush() }
  }

  private func scheduledFlush() {
    isFlushScheduled = false
    if let channelContext { flush(context: channelContext) }
  }

  func flush(context: ChannelHandlerContext) {
    guard outgoing.readableBytes > 0 else { return }
    let bytes = outgoing
    // Reuses the storage when the write below is done at once, and allocates when it is still queued.
    outgoing = ByteBuffer()
    context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
  }
}
