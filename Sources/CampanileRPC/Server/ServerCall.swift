public import CampanileBase
public import NIOCore
import CampanileCodec

/// One call that a server serves, from its request to its response.
///
/// Confined to its connection's event loop: every member is used there only. It is marked Sendable so that a handler's
/// task may hold it. The task prefers the loop's executor, and the typed layer hops to the loop before it uses the
/// call.
public final class ServerCall: DeadlineEntry, @unchecked Sendable {
  let transport: CallTransport
  let id: CallID
  let batch: BatchReply?
  public internal(set) var metadata: Metadata
  /// The call's deadline; `nil` until one is set, and for streams without one.
  public private(set) var deadline: Deadline?
  public let isTrusted: Bool
  /// The caller: on a trusted connection the principal in the call's metadata, otherwise that of the connection's
  /// credential.
  public let principal: Principal?
  /// The arrival time of the call with its complete first message.
  public private(set) var startedAt: NIODeadline
  /// The dispatcher's decision about a call whose head arrived before its message. Set by the dispatcher; nil for other
  /// calls.
  public var admission: AnyObject?
  /// The caller's remaining quota, for transports that report it.
  public var quota: (any CallQuota)?

  /// The observer of the caller's messages and of the call's end. Set by the dispatcher, and released with the
  /// response.
  public var handler: (any ServerCallHandler)?
  /// The credit for messages to the caller.
  public private(set) var outboundCredit: StreamCredit
  /// The caller's credit for its messages.
  public private(set) var inboundCredit: StreamCredit
  private var queuedBytes = 0
  private var isHalfClosed = false
  public private(set) var isAnswered = false
  /// The time of the response; meaningless before it.
  public private(set) var answeredAt = NIODeadline.uptimeNanoseconds(0)
  private var hasHandlerEnded = false
  var hasStreamed = false
  /// Metrics and tracing of the call. Set by the dispatcher.
  var observation: MethodObservation?
  /// The scope of a call that is traced, or that changes state and may be logged.
  public internal(set) var scope: CallScope?
  /// The start of the call's processing; 0 if it is not measured.
  var begunAt = NIODeadline.uptimeNanoseconds(0)
  var decodedAt = NIODeadline.uptimeNanoseconds(0)
  var slow: SlowCall?

  init(
    transport: CallTransport, id: CallID, batch: BatchReply?, metadata: Metadata, isTrusted: Bool,
    principal: Principal?, startedAt: NIODeadline
  ) {
    self.transport = transport
    self.id = id
    self.batch = batch
    self.metadata = metadata
    self.isTrusted = isTrusted
    self.principal = principal
    self.startedAt = startedAt
    outboundCredit = transport.outboundCredit
    inboundCredit = transport.inboundCredit
  }

  public var eventLoop: any EventLoop { transport.context.loop }
  /// The event loop's shard for counters.
  public var shard: CounterShard { transport.context.shard }
  public var remoteAddress: String { transport.remoteAddress }
  /// The peer's IP address without a port; empty if it has none.
  public var remoteHost: String { transport.remoteHost }
  /// The object that the `HelloAuthenticator` returned for the connection's credential.
  public var connectionCredential: AnyObject? { transport.credential }
  /// Whether all calls of the connection come from this caller.
  public var hasConnectionForItself: Bool { transport.hasOneCaller }
  /// The dispatcher's per-connection state, preserved from one call to the next.
  public var connectionAttachment: AnyObject? {
    get { transport.attachment }
    set { transport.attachment = newValue }
  }

  /// Whether a message may be sent now: the caller granted credit and the connection is writable.
  public var canSend: Bool { !isAnswered && outboundCredit.allowsMessage && transport.isWritable }

  /// Whether the caller leaves more than `unreadBytesMax` unread, so that its streams must end; see
  /// `WireLimits.unreadBytesMax`.
  public var isUnread: Bool { transport.isUnread }
  public var unreadBytesMax: Int { transport.unreadBytesMax }
  /// Whether the call may be a stream: it is not part of a batch.
  public var mayStream: Bool { batch == nil }

  /// Resets the call's start time, because its message arrived after its head. Call it before the call is started.
  public func messageArrived() { startedAt = transport.context.loop.now }

  /// Ends the call with DEADLINE_EXCEEDED `timeout` after its arrival, rounded up to milliseconds and clamped to the
  /// limit of the transport. No effect if a deadline is already set.
  public func setDeadline(timeout: Duration) { setDeadline(timeoutMs: timeout.wholeMilliseconds) }

  /// Ends the call `timeoutMs` after its arrival; see `setDeadline(timeout:)`.
  package func setDeadline(timeoutMs: Int64) {
    guard deadline == nil, !isAnswered else { return }
    let clamped = min(max(timeoutMs, 0), transport.timeoutMsMax)
    let deadline = Deadline.after(timeoutMs: clamped, now: startedAt)
    self.deadline = deadline
    transport.context.add(self, at: deadline)
  }

  // MARK: responding

  /// Completes the call with a result: the bytes of an object, or none for an empty one.
  public func succeed(_ result: UnsafeRawBufferPointer) {
    guard answer(code: nil) else { return }
    transport.reply(to: self, result: result)
    logIfSlow()
  }

  /// Completes the call with a message, encoded in the connection's scratch buffer.
  func succeed(_ message: some ProtoMessage) {
    guard answer(code: nil) else { return }
    transport.reply(to: self, message: message)
    logIfSlow()
  }

  /// Fails the call.
  public func fail(_ error: RPCError) {
    guard answer(code: error.code) else { return }
    transport.reply(to: self, error: error)
    logIfSlow()
  }

  /// Fails the call with an error object as another server sent it.
  public func fail(rawError: UnsafeRawBufferPointer, code: RPCError.Code) {
    guard answer(code: code) else { return }
    transport.reply(to: self, rawError: rawError)
    logIfSlow()
  }

  private func answer(code: RPCError.Code?) -> Bool {
    guard !isAnswered else { return false }
    isAnswered = true
    answeredAt = transport.context.readTime()
    // Before the handler is released, which knows more about the call.
    observation?.answered(self, code, at: answeredAt)
    if deadline != nil { transport.context.remove(self) }
    handler = nil
    if queuedBytes > 0 { dequeued(bytes: queuedBytes) }
    transport.callAnswered(self)
    return true
  }

  @inline(__always)
  private func logIfSlow() {
    guard let slow else { return }
    self.slow = nil
    observation?.log(self, slow)
  }

  /// The call's facts for log lines.
  public var record: CallRecord {
    var record = names
    record.traceID = scope?.span?.context.traceID
    return record
  }

  /// The call's facts without its trace, which a span already contains.
  var names: CallRecord {
    handler?.record ?? CallRecord(requestID: metadata[Metadata.requestIDKey], principal: principal?.name)
  }

  /// Marks the handler as finished. Call exactly once, before or after the response.
  public func handlerEnded() {
    guard !hasHandlerEnded else { return }
    hasHandlerEnded = true
    transport.handlerEnded()
  }

  /// Pauses the connection for `restNs`, because its caller keeps exceeding its limits.
  ///
  /// Frames that have arrived wait; TCP flow control holds back the rest. Call it while the call is being started.
  public func rest(forNs restNs: Int64) {
    transport.rest(until: startedAt + .nanoseconds(restNs))
  }

  // MARK: streaming

  /// Sends one message of the response stream. Check `canSend` first: without credit nothing is sent.
  ///
  /// - Returns: False if the message was not sent.
  @discardableResult
  public func send(message: UnsafeRawBufferPointer) -> Bool {
    guard !isAnswered, outboundCredit.allowsMessage, mayStream else { return false }
    hasStreamed = true
    transport.send(to: self, message: message)
    return true
  }

  func send(_ message: some ProtoMessage) -> Bool {
    guard !isAnswered, outboundCredit.allowsMessage, mayStream else { return false }
    hasStreamed = true
    transport.send(to: self, message: message)
    return true
  }

  /// Records that the transport has sent a message, which takes `bytes` of the caller's credit.
  @inline(__always)
  public func sent(bytes: Int) { outboundCredit.take(bytes: bytes) }

  /// Grants the caller credit for further messages, up to the maximum of a credit.
  public func grantCredit(_ credit: StreamCredit) {
    let grant = inboundCredit.fitting(credit)
    guard !isAnswered, mayStream, grant != .zero, inboundCredit.add(grant) else { return }
    transport.grantCredit(to: self, grant)
  }

  /// Records that a streamed message waits to be read. It counts in the connection's credit until then.
  public func queued(bytes: Int) {
    guard !isAnswered else { return }
    queuedBytes += bytes
    transport.queuedMessageBytes += bytes
  }

  /// Records that a waiting message was read.
  public func dequeued(bytes: Int) {
    guard queuedBytes > 0 else { return }
    queuedBytes -= bytes
    transport.queuedMessageBytes -= bytes
    transport.queueShrank()
  }

  /// Adds to the bytes of messages that wait here for the caller's credit. They count as unread.
  public func heldBack(bytes: Int) { transport.heldBackBytes += bytes }

  // MARK: from the connection

  /// Handles one message, which takes `sizeBytes` of the caller's credit.
  func received(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    hasStreamed = true
    guard inboundCredit.allowsMessage else { return exceededCredit() }
    guard !isHalfClosed else {
      return end(RPCError(.invalidArgument, "a message was sent after rpc.end", reason: "STREAM_HALF_CLOSED"))
    }
    inboundCredit.take(bytes: sizeBytes)
    handler?.receive(message: message, sizeBytes: sizeBytes)
  }

  /// Handles a message beyond the credit of the call or of its connection.
  func exceededCredit() {
    hasStreamed = true
    end(RPCError(.resourceExhausted, "a message was sent beyond the credit granted", reason: "CREDIT_EXCEEDED"))
  }

  func receivedHalfClose() {
    hasStreamed = true
    guard !isHalfClosed else { return }
    isHalfClosed = true
    handler?.halfClosed()
  }

  func received(credit: StreamCredit) {
    guard outboundCredit.add(credit) else {
      return end(
        RPCError(
          .invalidArgument, "rpc.credit raises the messages or bytes above 2^31 - 1", reason: "CREDIT_OVERFLOW"))
    }
    handler?.canSend()
  }

  /// Fails the call, then notifies the handler, so that anything the handler still sends is too late.
  func end(_ error: RPCError) {
    let cancelledHandler = handler
    fail(error)
    cancelledHandler?.cancelled(error)
  }

  override func deadlinePassed() {
    end(RPCError(.deadlineExceeded, "the deadline passed before the call was answered", reason: "DEADLINE_EXCEEDED"))
  }
}
