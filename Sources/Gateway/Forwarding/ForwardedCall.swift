import CampanileBase
import CampanileRPC
import Logging
import NIOCore

/// One forwarded call: its server side, its client side, and the messages between them.
///
/// Confined to the event loop that both sides share. Bytes are passed on without being parsed. The call ends exactly
/// once: with the backend's response, by the caller (cancel, deadline, a lost connection), or by a limit of the
/// gateway.
final class ForwardedCall {
  /// Maximum size of a request that is kept for another attempt.
  static let retryBytesMax = 256 * 1024
  static let attemptsMax = 3

  private let call: ServerCall
  private let route: Route
  private let permit: CallPermit
  private let owner: LoopForwarder
  /// The caller's credential; `nil` on trusted connections, for anonymous callers and for members with a session.
  let credential: Credential?
  private let startedAt: NIODeadline
  private(set) var address: BackendAddress
  /// The next and the previous call in the loop's list.
  var newer: ForwardedCall?
  // Unowned to avoid a retain cycle; `LoopForwarder.closed` updates it when the older call ends.
  unowned(unsafe) var older: ForwardedCall?
  private var upstream: ClientCall?
  private var isEnded = false
  /// Whether no attempt is in progress at `address`.
  private var isLeft = true
  /// Stores the response for repeats of an idempotent call.
  private let idempotentCall: IdempotentCall?
  /// The code for a caller that left early, while the call continues so that its response is stored.
  private var cancelledCode: RPCError.Code?
  private var hedged: HedgedAttempt?
  /// Whether a handler may have seen an attempt that has ended.
  private var mayHaveRun = false
  private var hedgeTimer: Scheduled<Void>?
  /// The request, kept for another attempt. `nil` if none is possible, and after a message was passed on.
  private var request: RetainedRequest?
  private var stream: StreamRelay?
  /// The number in the call's request id.
  var number: UInt64 = 0

  /// The data for another attempt.
  struct RetainedRequest {
    var head: CallHead
    var params: [UInt8]
    var members: [UInt8]
    var attempts = 1
    /// A bit for each tried address.
    var tried: UInt16 = 0
  }

  /// The state of streams only.
  struct StreamRelay {
    /// Messages that the backend's connection has not yet accepted: at most the caller's credit and one frame.
    var requests = WaitingMessages()
    /// Messages for which the caller has no credit yet: at most the backend's credit and one frame.
    var responses = WaitingMessages()
    /// The end of the backend's stream, while messages before it wait.
    var end: StreamEnd?
    var isHalfClosed = false
  }

  enum StreamEnd {
    case finished([UInt8])
    case failed(RPCError, raw: [UInt8]?)
  }

  init(
    _ call: ServerCall, route: Route, permit: CallPermit, address: BackendAddress, owner: LoopForwarder,
    credential: Credential?, idempotentCall: IdempotentCall? = nil
  ) {
    self.call = call
    self.route = route
    self.permit = permit
    self.idempotentCall = idempotentCall
    self.address = address
    self.owner = owner
    self.credential = credential
    startedAt = owner.loop.now
    route.recorder.callStarted(on: call.shard)
    owner.opened(self)
    if route.kind != .unary {
      stream = StreamRelay()
      owner.add(stream: self)
    }
  }

  /// Sends the request to the address. Call once.
  @inline(__always)
  func start(_ head: CallHead, params: UnsafeRawBufferPointer, members: UnsafeRawBufferPointer) {
    call.handler = self
    let hasOthers = pool.addresses.count > 1
    // Credited once per call, not per attempt: retries must not pay for further retries.
    if hasOthers { pool.budget.called() }
    // Without a connection, the address may be removed from the backend before the request is sent.
    if hasOthers || !address.isConnected, params.count <= Self.retryBytesMax {
      request = RetainedRequest(
        head: head, params: [UInt8](params), members: [UInt8](members),
        tried: address.bit)
    }
    send(head, params: params, members: members, now: startedAt)
    if let hedgeMs = pool.hedgeMs, route.isHedgeable, request != nil, !isEnded { hedge(afterMs: hedgeMs) }
  }

  @inline(__always)
  private func send(
    _ head: CallHead, params: UnsafeRawBufferPointer, members: UnsafeRawBufferPointer, now: NIODeadline? = nil
  ) {
    address.openCalls += 1
    isLeft = false
    let started = address.client.startCall(
      head, params: params, rawMetadata: members, on: owner.loop, now: now, handler: self)
    // A client that fails at once has already ended this call.
    if !isEnded { upstream = started }
  }

  private var pool: BackendPool { permit.pool }
  var hasDeadline: Bool { call.deadline != nil }

  // MARK: End of the call

  /// Ends the call on both sides with an error of the gateway.
  func end(_ error: RPCError) {
    guard !isEnded else { return }
    upstream?.cancel()
    leave(.gaveUp)
    call.fail(error)
    finish(error.code)
    idempotentCall?.failed(error)
  }

  /// Ends the attempt at the address.
  @inline(__always)
  private func leave(_ outcome: BackendPool.Outcome) {
    upstream = nil
    guard !isLeft else { return }
    isLeft = true
    pool.ended(address, outcome)
  }

  @inline(__always)
  private func finish(_ code: RPCError.Code?) {
    isEnded = true
    request = nil
    endHedge()
    owner.closed(self)
    if let stream {
      owner.remove(stream: self)
      if !stream.responses.isEmpty { call.heldBack(bytes: -stream.responses.sizeBytes) }
    }
    permit.giveBack()
    // Reuse the time of the response, unless the caller left before it.
    let endedAt = cancelledCode == nil && call.isAnswered ? call.answeredAt : owner.loop.now
    route.recorder.callFinished(
      code: cancelledCode ?? code, durationNs: (endedAt - startedAt).nanoseconds, on: call.shard)
    call.handlerEnded()
  }

  /// Sends the request to another address. Returns false if that is not possible.
  private func tryAnother() -> Bool {
    guard var kept = request, kept.attempts < Self.attemptsMax, !call.isAnswered,
      // Moving off a removed address is not a retry, so it costs no budget.
      let other = pool.choose(tried: kept.tried), address.isLeaving || pool.budget.take()
    else { return false }
    kept.attempts += 1
    kept.tried |= other.bit
    request = kept
    address = other
    kept.params.withUnsafeBytes { params in
      kept.members.withUnsafeBytes { members in send(kept.head, params: params, members: members) }
    }
    if stream?.isHalfClosed == true { upstream?.halfClose() }
    return true
  }
}

extension ForwardedCall {
  /// The trace context that the backend continues, if the call is traced.
  var trace: TraceContext? { call.scope?.span?.context }

  var spanAttributes: [FinishedSpan.Attribute] {
    var attributes: [FinishedSpan.Attribute] = [
      .init(key: "campanile.backend", value: pool.name), .init(key: "server.address", value: address.text),
    ]
    if !route.isDescribed { attributes.append(.init(key: "rpc.method", value: route.path)) }
    if let attempts = request?.attempts, attempts > 1 {
      attributes.append(.init(key: "campanile.attempts", value: String(attempts)))
    }
    return attributes
  }

  /// The call's fields in log lines.
  var record: CallRecord? {
    CallRecord(requestID: owner.requestID(number), principal: principalName)
  }

  var partsMs: [String: Double] {
    [
      "queueMs": Double((startedAt - call.startedAt).nanoseconds / 1_000) / 1_000,
      "backendMs": Double((owner.loop.now - startedAt).nanoseconds / 1_000) / 1_000,
    ]
  }

  private var principalName: String {
    credential?.principal.name ?? (call.isTrusted ? "operator" : "anonymous")
  }

  /// The call's state, for the operator.
  var openRecord: OpenCallRecord {
    OpenCallRecord(
      method: route.path, isStream: stream != nil,
      principal: principalName,
      remoteAddress: call.remoteHost, service: pool.name, address: address.text,
      ageMs: (owner.loop.now - startedAt).nanoseconds / 1_000_000, waitingBytes: stream?.requests.sizeBytes ?? 0)
  }
}

// MARK: - Hedging

extension ForwardedCall {
  /// Schedules a second attempt at another address, in case this one has not responded by then.
  private func hedge(afterMs: Int64) {
    hedgeTimer = owner.loop.assumeIsolated().scheduleTask(in: .milliseconds(afterMs)) { self.hedgeNow() }
  }

  private func hedgeNow() {
    hedgeTimer = nil
    guard !isEnded, !isLeft, hedged == nil, var kept = request, !call.isAnswered,
      let other = pool.choose(tried: kept.tried), other.isConnected, pool.budget.take()
    else { return }
    kept.tried |= other.bit
    request = kept
    let attempt = HedgedAttempt(self, pool, other)
    hedged = attempt
    attempt.start(kept, on: owner.loop)
  }

  func hedgeFinished(result: UnsafeRawBufferPointer) {
    hedged = nil
    guard !isEnded else { return }
    upstream?.cancel()
    leave(.gaveUp)
    call.succeed(result)
    finish(nil)
  }

  func hedgeFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    hedged = nil
    mayHaveRun = mayHaveRun || error.processed
    guard !isEnded, isLeft else { return }
    answer(error, rawError)
  }

  @inline(__always)
  private func endHedge() {
    guard hedgeTimer != nil || hedged != nil else { return }
    hedgeTimer?.cancel()
    hedgeTimer = nil
    let attempt = hedged
    hedged = nil
    attempt?.cancel()
  }
}

// MARK: - Events from the backend

extension ForwardedCall: ClientCallHandler {
  func callFinished(result: UnsafeRawBufferPointer) {
    guard !isEnded else { return }
    leave(.answered)
    if stream?.responses.isEmpty == false {
      stream?.end = .finished([UInt8](result))
      return
    }
    if let idempotentCall {
      let kept = [UInt8](result)
      return idempotentCall.succeeded(kept) { [self] in
        guard !isEnded else { return }
        kept.withUnsafeBytes { call.succeed($0) }
        finish(nil)
      }
    }
    call.succeed(result)
    finish(nil)
  }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    guard !isEnded else { return }
    leave(BackendPool.Outcome(error, isAnswer: rawError != nil))
    mayHaveRun = mayHaveRun || error.processed
    let isUnseen = BackendFailure.mayTryAnother(error)
    if isUnseen, tryAnother() { return }
    // The hedged attempt may still succeed.
    if hedged != nil, isUnseen || BackendFailure.isServerFault(error) { return }
    answer(error, rawError)
  }

  private func answer(_ last: RPCError, _ rawError: UnsafeRawBufferPointer?) {
    if stream?.responses.isEmpty == false {
      stream?.end = .failed(last, raw: rawError.map { [UInt8]($0) })
      return
    }
    var error = last
    // `processed` covers all attempts, including a hedged attempt that is abandoned now.
    error.processed = last.processed || mayHaveRun || hedged != nil
    // The backend sent this error for the call. If it rejects the gateway's connection, there is no raw error.
    if let rawError {
      if error.processed == last.processed { call.fail(rawError: rawError, code: error.code) } else { call.fail(error) }
      finish(error.code)
      idempotentCall?.failed(error)
      return
    }
    let answer = BackendFailure.answer(error, service: pool.name)
    owner.logger.debug(
      "a forwarded call failed",
      metadata: call.record.logMetadata.merging(
        ["method": "\(route.path)", "error": "\(error)", "processed": "\(error.processed)"]) { $1 })
    call.fail(answer)
    finish(answer.code)
    idempotentCall?.failed(answer)
  }

  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    guard !isEnded, stream != nil else { return }
    request = nil
    if !pool.breaker.isClosed { pool.breaker.succeeded() }
    // Credit is not granted while the caller's connection is full, but messages granted earlier may still arrive.
    if call.isUnread { return end(BackendFailure.slowConsumer(call.unreadBytesMax)) }
    guard call.mayStream else { return end(BackendFailure.streamNotAllowed(processed: true)) }
    if stream?.responses.isEmpty == true, call.send(message: message) { return grantUpstream() }
    // The frames of both connections differ in length, so the caller's credit may be used up before the backend's.
    stream?.responses.append(message)
    call.heldBack(bytes: message.count)
  }

  func callCredit(_ credit: StreamCredit) {
    guard !isEnded else { return }
    sendRequests()
    grantDownstream()
  }

  private func grantUpstream() {
    guard call.canSend, let upstream, let held = stream?.responses.credit else { return }
    let available = call.outboundCredit.reduced(by: held)
    if let grant = CreditRelay.grant(available: available, outstanding: upstream.receiveCredit) {
      upstream.grantCredit(grant)
    }
  }

  /// Sends the caller the messages that wait for its credit, and then the end of the stream.
  private func sendResponses() {
    while !isEnded, call.canSend, let message = stream?.responses.first {
      // Removed first: a change of the connection's writability calls this again.
      stream?.responses.removeFirst()
      call.heldBack(bytes: -message.count)
      message.withUnsafeBytes { _ = call.send(message: $0) }
    }
    guard !isEnded, stream?.responses.isEmpty == true, let end = stream?.end else { return }
    stream?.end = nil
    switch end {
    case .finished(let result): result.withUnsafeBytes { callFinished(result: $0) }
    case .failed(let error, let raw?): raw.withUnsafeBytes { answer(error, $0) }
    case .failed(let error, nil): answer(error, nil)
    }
  }
}

// MARK: - Events from the caller

extension ForwardedCall: ServerCallHandler {
  func receive(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    guard !isEnded else { return }
    guard route.kind.streamsRequests, stream != nil else { return end(BackendFailure.streamUnexpected) }
    request = nil
    if stream?.requests.isEmpty == true, upstream?.send(message: message) == true { return grantDownstream() }
    // A message that is too long for the backend has just ended the call.
    guard !isEnded else { return }
    stream?.requests.append(message)
    call.queued(bytes: message.count)
  }

  func halfClosed() {
    guard !isEnded, route.kind.streamsRequests else { return }
    stream?.isHalfClosed = true
    if stream?.requests.isEmpty == true { upstream?.halfClose() }
  }

  func cancelled(_ error: RPCError) {
    guard !isEnded else { return }
    // Other callers may repeat the request to get its response, so it continues.
    if idempotentCall != nil { return cancelledCode = error.code }
    upstream?.cancel()
    leave(.gaveUp)
    finish(error.code)
  }

  func canSend() {
    guard !isEnded else { return }
    sendResponses()
    if !isEnded { grantUpstream() }
  }

  private func sendRequests() {
    guard stream?.requests.isEmpty == false else { return }
    while let message = stream?.requests.first, message.withUnsafeBytes({ upstream?.send(message: $0) }) == true {
      stream?.requests.removeFirst()
      call.dequeued(bytes: message.count)
    }
    guard !isEnded else { return }
    if stream?.isHalfClosed == true, stream?.requests.isEmpty == true { upstream?.halfClose() }
  }

  private func grantDownstream() {
    guard !isEnded, let upstream, let waiting = stream?.requests.credit else { return }
    let available = upstream.sendCredit.reduced(by: waiting)
    if let grant = CreditRelay.grant(available: available, outstanding: call.inboundCredit) { call.grantCredit(grant) }
  }
}
