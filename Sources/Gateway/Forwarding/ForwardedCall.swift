import CampanileRPC
import Logging
import NIOCore

/// One call on its way through the gateway: the server side of it and the client side, and what passes between them.
///
/// Confined to the event loop of both. Bytes are passed on as they come; nothing of them is read. It ends exactly once: by the
/// backend's answer, by the caller (cancel, deadline, a lost connection), or by a rule of the gateway's own.
final class ForwardedCall {
  /// The most bytes of a stream that wait for a backend.
  static let bufferedBytesMax = 8 * 1024 * 1024
  /// The longest request that is kept to be sent to another address.
  static let retryBytesMax = 256 * 1024
  static let attemptsMax = 3

  private let call: ServerCall
  private let route: Route
  private let place: Place
  private let owner: LoopForwarder
  /// What the call was made with; `nil` on trusted links, for strangers and for members with a session.
  let credential: Credential?
  private let startedAt: NIODeadline
  private(set) var address: BackendAddress
  /// Its neighbours among the calls of its loop.
  var newer: ForwardedCall?
  // The older one knows this one and tells it when it goes, so that there is no circle.
  unowned(unsafe) var older: ForwardedCall?
  private var upstream: ClientCall?
  private var isEnded = false
  /// Whether no attempt is under way at an address.
  private var isLeft = true
  /// Keeps the answer for calls that repeat this one.
  private let keeper: RepeatedCall?
  /// What the caller was told who did not wait for the answer that is kept.
  private var goneCode: RPCError.Code?
  private var hedged: HedgedAttempt?
  /// Whether a handler may have seen an attempt that is over.
  private var mayHaveRun = false
  private var hedgeTimer: Scheduled<Void>?
  /// What is needed to send the request again. `nil` where there is no other address, and once something was passed on.
  private var request: KeptRequest?
  private var stream: StreamRelay?
  /// Its request id's number.
  var number: UInt64 = 0

  /// What another attempt needs.
  struct KeptRequest {
    var head: CallHead
    var params: [UInt8]
    var members: [UInt8]
    var attempts = 1
    /// A bit for each address that was tried.
    var tried: UInt16 = 0
  }

  /// The state that only streams have.
  struct StreamRelay {
    /// From the backend to the caller.
    var responses = CreditRelay(initial: WireLimits.streamCredit)
    /// From the caller to the backend.
    var requests = CreditRelay(initial: WireLimits.streamCredit)
    /// Messages that the connection to the backend did not take.
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    var isHalfClosed = false
  }

  init(
    _ call: ServerCall, route: Route, place: Place, address: BackendAddress, owner: LoopForwarder,
    credential: Credential?, keeper: RepeatedCall? = nil
  ) {
    self.call = call
    self.route = route
    self.place = place
    self.keeper = keeper
    self.address = address
    self.owner = owner
    self.credential = credential
    startedAt = owner.loop.now
    route.recorder.callStarted(on: call.lane)
    owner.opened(self)
    if route.kind != .unary {
      stream = StreamRelay()
      owner.add(stream: self)
    }
  }

  /// Sends the request to the address. Called once.
  @inline(__always)
  func start(_ head: CallHead, params: UnsafeRawBufferPointer, members: UnsafeRawBufferPointer) {
    call.handler = self
    // Where there is no connection yet, the address may turn out to be gone.
    if pool.addresses.count > 1 || !address.isConnected, params.count <= Self.retryBytesMax {
      request = KeptRequest(
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
    // A client that refuses at once has ended this call already.
    if !isEnded { upstream = started }
  }

  private var pool: BackendPool { place.pool }
  var hasDeadline: Bool { call.deadline != nil }

  // MARK: the end

  /// Ends the call with an error of the gateway's own, on both sides.
  func end(_ error: RPCError) {
    guard !isEnded else { return }
    upstream?.cancel()
    leave(.gaveUp)
    call.fail(error)
    finish(error.code)
    keeper?.failed(error)
  }

  /// The attempt at the address is over.
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
    if stream != nil { owner.remove(stream: self) }
    place.giveBack()
    // The clock was read for the answer just now, unless the caller went earlier.
    let endedAt = goneCode == nil && call.isAnswered ? call.answeredAt : owner.loop.now
    route.recorder.callFinished(code: goneCode ?? code, durationNs: (endedAt - startedAt).nanoseconds, on: call.lane)
    call.handlerEnded()
  }

  /// Sends the request to another address. False when that is not possible.
  private func tryAnother() -> Bool {
    guard var kept = request, kept.attempts < Self.attemptsMax, !call.isAnswered,
      // What moves because its address is gone was never a load.
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
  /// Of a call that is traced: what its backend continues.
  var trace: TraceContext? { call.scope?.span?.context }

  var spanAttributes: [FinishedSpan.Attribute] {
    var told: [FinishedSpan.Attribute] = [
      .init(key: "campanile.backend", value: pool.name), .init(key: "server.address", value: address.text),
    ]
    if !route.isDescribed { told.append(.init(key: "rpc.method", value: route.path)) }
    if let attempts = request?.attempts, attempts > 1 {
      told.append(.init(key: "campanile.attempts", value: String(attempts)))
    }
    return told
  }

  /// What log lines tell of it.
  var facts: CallFacts? {
    CallFacts(requestID: owner.requestID(number), principal: principalName)
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

  /// What the operator is told of it.
  var openFacts: OpenCallFacts {
    OpenCallFacts(
      method: route.path, isStream: stream != nil,
      principal: principalName,
      remoteAddress: call.remoteHost, service: pool.name, address: address.text,
      ageMs: (owner.loop.now - startedAt).nanoseconds / 1_000_000, waitingBytes: stream?.waitingBytes ?? 0)
  }
}

// MARK: - a second address

extension ForwardedCall {
  /// Sends the request to another address too, should this one not have answered by then.
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

// MARK: - from the backend

extension ForwardedCall: ClientCallHandler {
  func callFinished(result: UnsafeRawBufferPointer) {
    guard !isEnded else { return }
    leave(.answered)
    if let keeper {
      let kept = [UInt8](result)
      return keeper.succeeded(kept) { [self] in
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
    // The other address may still answer.
    if hedged != nil, isUnseen || BackendFailure.isServerFault(error) { return }
    answer(error, rawError)
  }

  private func answer(_ last: RPCError, _ rawError: UnsafeRawBufferPointer?) {
    var error = last
    // What the caller is told holds for all attempts, also for one that is given up now.
    error.processed = last.processed || mayHaveRun || hedged != nil
    // A backend that refuses the gateway's own link answers with an error too, but never to a call.
    if let rawError {
      if error.processed == last.processed { call.fail(rawError: rawError, code: error.code) } else { call.fail(error) }
      finish(error.code)
      keeper?.failed(error)
      return
    }
    let answer = BackendFailure.answer(error, service: pool.name)
    owner.logger.debug(
      "a forwarded call failed",
      metadata: call.facts.logMetadata.merging(
        ["method": "\(route.path)", "error": "\(error)", "processed": "\(error.processed)"]) { $1 })
    call.fail(answer)
    finish(answer.code)
    keeper?.failed(answer)
  }

  func callReceived(message: UnsafeRawBufferPointer) {
    guard !isEnded, stream?.responses.received() == true else { return }
    request = nil
    if !pool.breaker.isClosed { pool.breaker.succeeded() }
    // Where the caller's connection is full nothing more is granted; what was granted may still arrive.
    if call.isUnread { return end(BackendFailure.slowConsumer(call.unreadBytesMax)) }
    guard call.send(message: message) else { return end(BackendFailure.streamNotAllowed(processed: true)) }
    grantUpstream()
  }

  func callCredit(messages: Int) {
    guard !isEnded else { return }
    sendWaiting()
    grantDownstream()
  }

  private func grantUpstream() {
    guard call.canSend else { return }
    let messages = stream?.responses.grant(available: call.outboundCredit) ?? 0
    if messages > 0 { upstream?.grantCredit(messages) }
  }
}

// MARK: - from the caller

extension ForwardedCall: ServerCallHandler {
  func receive(message: UnsafeRawBufferPointer) {
    guard !isEnded else { return }
    guard route.kind.streamsRequests, stream?.requests.received() == true else {
      return end(BackendFailure.streamUnexpected)
    }
    request = nil
    if stream?.waiting.isEmpty == true, upstream?.send(message: message) == true { return grantDownstream() }
    // A message that the backend can never take has ended the call just now.
    guard !isEnded else { return }
    stream?.waiting.append([UInt8](message))
    stream?.waitingBytes += message.count
    let mayWait = call.keeps(bytes: message.count)
    if let waiting = stream?.waitingBytes, waiting > Self.bufferedBytesMax || !mayWait {
      end(BackendFailure.slowBackend(pool.name))
    }
  }

  func halfClosed() {
    guard !isEnded, route.kind.streamsRequests else { return }
    stream?.isHalfClosed = true
    if stream?.waiting.isEmpty == true { upstream?.halfClose() }
  }

  func cancelled(_ error: RPCError) {
    guard !isEnded else { return }
    // The request is carried out once for all who send it: it goes on for those who come back for its answer.
    if keeper != nil { return goneCode = error.code }
    upstream?.cancel()
    leave(.gaveUp)
    finish(error.code)
  }

  func canSend() {
    guard !isEnded else { return }
    grantUpstream()
  }

  private func sendWaiting() {
    guard let waiting = stream?.waiting, !waiting.isEmpty else { return }
    var sentCount = 0
    for message in waiting {
      guard !isEnded, message.withUnsafeBytes({ upstream?.send(message: $0) }) == true else { break }
      sentCount += 1
      stream?.waitingBytes -= message.count
      call.released(bytes: message.count)
    }
    guard !isEnded else { return }
    stream?.waiting.removeFirst(sentCount)
    if stream?.isHalfClosed == true, stream?.waiting.isEmpty == true { upstream?.halfClose() }
  }

  private func grantDownstream() {
    guard !isEnded, let upstream, let waitingCount = stream?.waiting.count else { return }
    let messages = stream?.requests.grant(available: upstream.sendCredit - waitingCount) ?? 0
    if messages > 0 { call.grantCredit(messages) }
  }
}
