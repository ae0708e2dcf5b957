import CampanileBase
import CampanileCodec
import NIOCore

// Responses and other output, on behalf of calls, the registry and the state machine's actions.
extension ServerConnection {
  // MARK: responses; one of a batch waits for the batch's other responses

  func reply(id: CallID, batch: BatchReply?, result: UnsafeRawBufferPointer) {
    if let refusal = refusal(ofBytes: result.count, batch) { return reply(id: id, batch: batch, error: refusal) }
    guard let batch else { return write { $0.writeResultFrame(id: id, result: result) } }
    add(to: batch) { $0.writeResult(id: id, result: result) }
  }

  /// Returns an error if a response that may be long cannot be sent.
  @inline(__always)
  private func refusal(ofBytes sizeBytes: Int, _ batch: BatchReply?) -> RPCError? {
    // The envelope around the longest id is well below 512 bytes.
    if sizeBytes <= longResultBytes, isWritable, batch == nil { return nil }
    return slowRefusal(ofBytes: sizeBytes, batch)
  }

  private func slowRefusal(ofBytes sizeBytes: Int, _ batch: BatchReply?) -> RPCError? {
    let frameBytesMax = sentFrameBytesMax
    // Part of a batch's frame is reserved for its errors.
    let reserve = min(max(frameBytesMax / 8, core.limits.batchEntriesMax * 512), frameBytesMax / 2)
    let room = batch.map { frameBytesMax - reserve - $0.sizeBytes } ?? frameBytesMax
    guard sizeBytes <= room - 512 else {
      return RPCError(
        .resourceExhausted,
        "the result of \(sizeBytes) bytes is longer than \(batch == nil ? "a frame may be" : "the rest of the batch's frame")",
        reason: "RESULT_TOO_LARGE")
    }
    guard hasUnread else { return reserveUnread(adding: sizeBytes) }
    return RPCError(
      .resourceExhausted, "more than \(unreadBytesMax) bytes wait for the caller to read them", reason: "SLOW_CONSUMER")
  }

  // MARK: unread bytes

  /// Whether the unread bytes exceed the limit, so that no long data may be added.
  var hasUnread: Bool {
    if isWritable, batchedBytes == 0, heldBackBytes == 0 { return false }
    return queuedBytes + outgoing.readableBytes + batchedBytes + heldBackBytes > unreadBytesMax
  }

  /// Bytes that were written and that the system has not accepted yet.
  var queuedBytes: Int { (try? channelContext?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

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

  // MARK: closing

  /// Sends an error and closes once it is written. Nothing more is read.
  func close(_ error: RPCError, id: CallID? = nil) {
    guard !isClosing else { return }
    write { $0.writeErrorFrame(id: id, error) }
    closeAfterFlush()
  }

  func closeAfterFlush() {
    guard !isClosing, let channelContext else { return }
    isClosing = true
    flush(context: channelContext)
    // Half-closing first lets the peer read the error even if bytes from it are still unread here.
    let bound = NIOLoopBound(channelContext, eventLoop: channelContext.eventLoop)
    channelContext.eventLoop.scheduleTask(in: .milliseconds(50)) { bound.value.close(promise: nil) }
    channelContext.close(mode: .output, promise: nil)
  }

  func startDrain() {
    guard !state.isDraining, !isClosing else { return }
    state.drain()
    write { $0.writeDrainFrame() }
    closeIfDrained()
  }

  /// After a drain the client closes. The server does so shortly afterwards, so that calls in flight get their refusal.
  func closeIfDrained() {
    guard state.isDrained, !isClosing, let loop = channelContext?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(200)) { bound.value.closeDrained() }
  }

  private func closeDrained() {
    guard state.isDrained else { return }
    // A frame that has begun to arrive gets its refusal, too; the time limit for a frame bounds the wait.
    if decoder.isInsideFrame { closeIfDrained() } else { closeAfterFlush() }
  }

  /// Handles the end of the peer's input. The wire protocol has no half-closed connections: the open calls are
  /// cancelled, and a peer that still reads gets their errors. A terminated process leaves no other trace, and its
  /// responses would have no reader.
  func inputClosed() {
    guard !isClosing else { return }
    for call in state.openCalls.all { call.end(Self.disconnected) }
    closeAfterFlush()
  }

  static let disconnected = RPCError(.cancelled, "the connection was closed", reason: "CONNECTION_CLOSED")

  /// Closes without a message, for peers that do not respond or do not read.
  func abandon() { channelContext?.close(promise: nil) }

  /// Checks the timeouts. Called about once a second.
  func checkTimeouts(now: NIODeadline) {
    guard !isClosing else { return }
    checkCredential(now: now)
    checkUnread()
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
          .deadlineExceeded, "a frame was not complete within \(timing.frameTimeoutMs) ms",
          reason: "FRAME_TOO_SLOW",
          processed: false))
    }
  }

  // MARK: writing

  /// Appends output to the next flush, which is at the end of the read batch, or of the loop's tick outside of one.
  func write(_ body: (inout ByteBuffer) -> Void) {
    guard let channelContext, !isClosing else { return }
    body(&outgoing)
    // Long responses are flushed in parts, so that a change of writability is noticed.
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
    // Reuses the storage if the write below completes at once, and allocates if it is still queued.
    outgoing = ByteBuffer()
    context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    if unread.reservedBytes > 0 { releaseUnread() }
  }
}
