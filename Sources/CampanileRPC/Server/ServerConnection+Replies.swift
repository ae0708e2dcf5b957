import CampanileCodec
import NIOCore

// What calls, the registry and the state machine's actions have the connection send.
extension ServerConnection {
  // MARK: answers; one that belongs to a batch waits there for the others

  func reply(id: CallID, batch: BatchReply?, result: UnsafeRawBufferPointer) {
    if let refusal = refusal(ofBytes: result.count, batch) { return reply(id: id, batch: batch, error: refusal) }
    guard let batch else { return write { $0.writeResultFrame(id: id, result: result) } }
    add(to: batch) { $0.writeResult(id: id, result: result) }
  }

  /// Why an answer that does not come from here, and may be long, cannot be sent.
  @inline(__always)
  private func refusal(ofBytes sizeBytes: Int, _ batch: BatchReply?) -> RPCError? {
    // What an envelope adds to the longest id is well below 512 bytes.
    if sizeBytes <= core.limits.frameBytesMax - 512, isWritable, batch == nil { return nil }
    return slowRefusal(ofBytes: sizeBytes, batch)
  }

  private func slowRefusal(ofBytes sizeBytes: Int, _ batch: BatchReply?) -> RPCError? {
    let frameBytesMax = core.limits.frameBytesMax
    // A part of a batch's frame is left for the errors in it.
    let reserve = min(max(frameBytesMax / 8, core.limits.batchEntriesMax * 512), frameBytesMax / 2)
    let room = batch.map { frameBytesMax - reserve - $0.sizeBytes } ?? frameBytesMax
    guard sizeBytes <= room - 512 else {
      return RPCError(
        .resourceExhausted,
        "the result of \(sizeBytes) bytes is longer than \(batch == nil ? "a frame may be" : "what is left of the batch's frame")",
        reason: "RESULT_TOO_LARGE")
    }
    guard hasUnread else { return nil }
    return RPCError(
      .resourceExhausted, "more than \(unreadBytesMax) bytes wait for the caller to read them", reason: "SLOW_CONSUMER")
  }

  // MARK: what the peer has not read

  /// Whether so much waits for the peer that nothing long may be added.
  var hasUnread: Bool {
    if isWritable, batchedBytes == 0 { return false }
    let queuedBytes = (try? channelContext?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    return queuedBytes + outgoing.readableBytes + batchedBytes > unreadBytesMax
  }

  func reply(id: CallID?, batch: BatchReply?, error: RPCError) {
    guard let batch else { return write { $0.writeErrorFrame(id: id, error) } }
    add(to: batch) { $0.writeError(id: id, error) }
  }

  func reply(id: CallID, batch: BatchReply?, rawError: UnsafeRawBufferPointer) {
    if let refusal = refusal(ofBytes: rawError.count, batch) { return reply(id: id, batch: batch, error: refusal) }
    guard let batch else { return write { $0.writeErrorFrame(id: id, rawError: rawError) } }
    add(to: batch) { $0.writeError(id: id, rawError: rawError) }
  }

  private func add(to batch: BatchReply, _ body: (inout ByteBuffer) -> Void) {
    let before = batch.sizeBytes
    batch.write(body)
    batchedBytes += batch.sizeBytes - before
    finishOne(of: batch)
  }

  func finishOne(of batch: BatchReply) {
    let sizeBytes = batch.sizeBytes
    guard let answers = batch.finishOne() else { return }
    batchedBytes -= sizeBytes
    write { buffer in
      let frame = buffer.beginFrame()
      buffer.writeImmutableBuffer(answers)
      buffer.endFrame(frame)
    }
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

  /// The peer will send nothing more. The wire knows no half of a connection: its calls are cancelled, and a peer that still
  /// reads is told so. A caller whose process has ended leaves nothing else behind, and nobody would read what its calls answer.
  func inputClosed() {
    guard !isClosing else { return }
    for call in state.openCalls.all { call.end(Self.gone) }
    closeAfterFlush()
  }

  static let gone = RPCError(.cancelled, "the connection is gone", reason: "CONNECTION_CLOSED")

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
    // Large answers go out in parts, so that writability is noticed.
    if outgoing.readableBytes > 256 * 1024 { flush(context: channelContext) }
    guard !isReadingBatch, !isFlushScheduled else { return }
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
