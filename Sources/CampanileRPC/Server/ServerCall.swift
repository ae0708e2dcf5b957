public import NIOCore
import CampanileCodec

/// One call that a server serves, from its request to its answer.
///
/// Confined to its connection's event loop: every member is used there only. It is marked Sendable so that a handler's task
/// may hold it; the task prefers the loop's executor and the typed layer hops to the loop before it touches the call.
public final class ServerCall: DeadlineEntry, @unchecked Sendable {
  let transport: CallTransport
  let id: CallID?
  let batch: BatchReply?
  public internal(set) var metadata: Metadata
  /// `nil` until one is set, and for streams without one.
  public private(set) var deadline: Deadline?
  public let isTrusted: Bool
  /// Who calls: as the call's metadata says on a trusted link, else as the connection's own credential.
  public let principal: Principal?
  /// When the call arrived.
  public let startedAt: NIODeadline
  /// What the caller has left of its share, for transports that tell it.
  public var quota: (any CallQuota)?

  /// Who is told of messages and of the end. Set by the dispatcher, and let go with the answer.
  public var handler: (any ServerCallHandler)?
  /// How many messages may still be sent to the caller.
  public private(set) var outboundCredit = WireLimits.streamCredit
  private var inboundCredit = WireLimits.streamCredit
  private var backlogBytes = 0
  private var isHalfClosed = false
  public private(set) var isAnswered = false
  /// When it was answered; meaningless until then.
  public private(set) var answeredAt = NIODeadline.uptimeNanoseconds(0)
  private var hasHandlerEnded = false
  var hasStreamed = false
  /// Counts and watches it. Set by the dispatcher.
  var observation: MethodObservation?
  /// Of a call that is traced, or that changes something and may be logged.
  public internal(set) var scope: CallScope?
  /// 0 where it is not asked for.
  var begunAt = NIODeadline.uptimeNanoseconds(0)
  var decodedAt = NIODeadline.uptimeNanoseconds(0)
  var slow: SlowCall?

  init(
    transport: CallTransport, id: CallID?, batch: BatchReply?, metadata: Metadata, isTrusted: Bool,
    principal: Principal?, startedAt: NIODeadline
  ) {
    self.transport = transport
    self.id = id
    self.batch = batch
    self.metadata = metadata
    self.isTrusted = isTrusted
    self.principal = principal
    self.startedAt = startedAt
  }

  public var eventLoop: any EventLoop { transport.context.loop }
  /// Where its event loop counts.
  public var lane: LoopLane { transport.context.lane }
  public var remoteAddress: String { transport.remoteAddress }
  /// The peer's IP address alone; empty where it has none.
  public var remoteHost: String { transport.remoteHost }
  /// What the `HelloAuthenticator` made of the token that the connection was opened with.
  public var connectionCredential: AnyObject? { transport.credential }
  /// Whether nobody else makes calls over the connection.
  public var hasConnectionForItself: Bool { transport.hasOneCaller }
  /// What the dispatcher keeps of the connection from one call to the next.
  public var connectionAttachment: AnyObject? {
    get { transport.attachment }
    set { transport.attachment = newValue }
  }

  /// Whether a message may be sent now: the caller granted it and the connection takes it.
  public var canSend: Bool { !isAnswered && outboundCredit > 0 && transport.isWritable }

  /// Whether more waits for the caller to read it than may, so that its streams are to be ended; see `WireLimits.unreadBytesMax`.
  public var isUnread: Bool { transport.isUnread }
  public var unreadBytesMax: Int { transport.unreadBytesMax }
  /// Whether the call may be a stream: it has an id, and a frame of its own.
  public var mayStream: Bool { id != nil && batch == nil }

  /// Ends the call with DEADLINE_EXCEEDED after `timeoutMs` from its arrival, at most the wire's cap. A deadline that is set
  /// stays.
  public func setDeadline(timeoutMs: Int64) {
    guard deadline == nil, !isAnswered else { return }
    let clamped = min(max(timeoutMs, 0), transport.timeoutMsMax)
    let deadline = Deadline.after(timeoutMs: clamped, now: startedAt)
    self.deadline = deadline
    transport.context.add(self, at: deadline)
  }

  // MARK: answering

  /// Answers with a result: the bytes of an object, or none for an empty one.
  public func succeed(_ result: UnsafeRawBufferPointer) {
    guard answer(code: nil) else { return }
    transport.reply(to: self, result: result)
    logIfSlow()
  }

  /// Answers with a message, encoded into the connection's own scratch space.
  func succeed(_ message: some ProtoMessage) {
    guard answer(code: nil) else { return }
    if id != nil { transport.reply(to: self, message: message) }
    logIfSlow()
  }

  /// Answers with an error.
  public func fail(_ error: RPCError) {
    guard answer(code: error.code) else { return }
    transport.reply(to: self, error: error)
    logIfSlow()
  }

  /// Answers with an error object as another server sent it.
  public func fail(rawError: UnsafeRawBufferPointer, code: RPCError.Code) {
    guard answer(code: code) else { return }
    transport.reply(to: self, rawError: rawError)
    logIfSlow()
  }

  private func answer(code: RPCError.Code?) -> Bool {
    guard !isAnswered else { return false }
    isAnswered = true
    answeredAt = transport.context.readTime()
    // Before the handler is let go, which knows more of the call.
    observation?.answered(self, code, at: answeredAt)
    if deadline != nil { transport.context.remove(self) }
    handler = nil
    transport.backlogBytes -= backlogBytes
    backlogBytes = 0
    transport.callAnswered(self)
    return true
  }

  @inline(__always)
  private func logIfSlow() {
    guard let slow else { return }
    self.slow = nil
    observation?.log(self, slow)
  }

  /// What log lines tell of it.
  public var facts: CallFacts {
    var facts = names
    facts.traceID = scope?.span?.context.traceID
    return facts
  }

  /// The same without its trace, which a span knows itself.
  var names: CallFacts {
    handler?.facts ?? CallFacts(requestID: metadata[Metadata.requestIDKey], principal: principal?.name)
  }

  /// Tells that no code runs for this call any more. Called once a call, after or before the answer.
  public func handlerEnded() {
    guard !hasHandlerEnded else { return }
    hasHandlerEnded = true
    transport.handlerEnded()
  }

  /// Has the connection take no more calls for `restNs` from now on, because its caller goes on asking for what it does not get.
  /// What has arrived waits; of what has not, the peer's window tells it to wait.
  ///
  /// Called while the call is being started.
  public func rest(forNs restNs: Int64) {
    transport.rest(until: startedAt + .nanoseconds(restNs))
  }

  // MARK: streaming

  /// Sends one message of the server's stream. The caller of this checks `canSend` first; without credit it does nothing
  /// and answers false.
  @discardableResult
  public func send(message: UnsafeRawBufferPointer) -> Bool {
    guard !isAnswered, outboundCredit > 0, mayStream else { return false }
    outboundCredit -= 1
    hasStreamed = true
    transport.send(to: self, message: message)
    return true
  }

  func send(_ message: some ProtoMessage) -> Bool {
    guard !isAnswered, outboundCredit > 0, mayStream else { return false }
    outboundCredit -= 1
    hasStreamed = true
    transport.send(to: self, message: message)
    return true
  }

  /// Lets the caller send `messages` more.
  public func grantCredit(_ messages: Int) {
    guard !isAnswered, mayStream, messages > 0 else { return }
    inboundCredit += messages
    transport.grantCredit(to: self, messages: messages)
  }

  /// A streamed message of `bytes` bytes waits for whoever takes it. False when too much waits for the calls of the connection:
  /// then the call must end.
  public func keeps(bytes: Int) -> Bool {
    guard !isAnswered else { return true }
    backlogBytes += bytes
    transport.backlogBytes += bytes
    return transport.backlogBytes <= transport.backlogBytesMax
  }

  /// That message was taken.
  public func released(bytes: Int) {
    guard !isAnswered else { return }
    backlogBytes -= bytes
    transport.backlogBytes -= bytes
  }

  // MARK: from the connection

  func received(message: UnsafeRawBufferPointer) {
    hasStreamed = true
    guard inboundCredit > 0 else {
      return end(
        RPCError(.resourceExhausted, "a message was sent beyond the credit granted", reason: "CREDIT_EXCEEDED"))
    }
    guard !isHalfClosed else {
      return end(RPCError(.invalidArgument, "a message was sent after rpc.end", reason: "STREAM_HALF_CLOSED"))
    }
    inboundCredit -= 1
    handler?.receive(message: message)
  }

  func receivedHalfClose() {
    hasStreamed = true
    guard !isHalfClosed else { return }
    isHalfClosed = true
    handler?.halfClosed()
  }

  func received(credit messages: Int) {
    outboundCredit = min(outboundCredit + messages, 1 << 31)
    handler?.canSend()
  }

  /// Answers and tells the handler, in this order, so that whatever the handler does comes too late to be sent.
  func end(_ error: RPCError) {
    let told = handler
    fail(error)
    told?.cancelled(error)
  }

  override func deadlinePassed() {
    end(RPCError(.deadlineExceeded, "the deadline passed before the call was answered", reason: "DEADLINE_EXCEEDED"))
  }
}
