import CampanileBase

/// The server's half of the wire protocol as a state machine without I/O: interprets each received frame in the current
/// state.
///
/// `Call` is the connection's object for an open call.
struct ServerConnectionState<Call> {
  /// The connection's next step after a frame.
  enum Action {
    case ignore
    case startCall(CallID)
    /// `rpc.message`, with the range of the message.
    case deliver(Call, Range<Int>)
    /// `rpc.message` beyond the connection's credit.
    case exceeds(Call)
    /// `rpc.message` of a call that has ended.
    case discard
    /// `rpc.end`
    case halfClose(Call)
    /// `rpc.cancel`
    case cancel(Call)
    /// `rpc.credit`
    case credit(Call, StreamCredit)
    /// `rpc.hello`
    case hello(CallID, Range<Int>?)
    /// `rpc.prove`
    case prove(CallID, Range<Int>?)
    /// `rpc.ping`: respond with an empty result.
    case pong(CallID)
    /// Respond with an error and continue. The id is `nil` if the response must not be taken for that of a call.
    case refuse(CallID?, RPCError)
    /// Respond with an error whose id is null, and close.
    case close(RPCError)
  }

  private let limits: WireLimits
  private(set) var openCalls = OpenCalls<Call>()
  /// Running handlers, including those whose call was already completed.
  private(set) var executingCount = 0
  private(set) var isTrusted = false
  private(set) var isDraining = false
  private var hasSaidHello = false
  private var malformedFrames = FloodCount()
  private var controlFrames = FloodCount()
  /// Stream frames that may still be in flight to calls that have ended.
  private var strayAllowance = 0
  /// The client's credit for the messages of all its streams.
  private var connectionCredit: ConnectionCredit

  init(limits: WireLimits) {
    self.limits = limits
    connectionCredit = ConnectionCredit(bytes: limits.connectionCreditBytes)
  }

  /// A count of frames in a window of time.
  private struct FloodCount {
    private var windowStartMs: Int64 = 0
    private var count = 0

    /// Counts a frame. Returns whether there are more than `countMax` in the window.
    mutating func exceeds(_ countMax: Int, windowMs: Int64, nowMs: Int64) -> Bool {
      if nowMs - windowStartMs >= windowMs {
        windowStartMs = nowMs
        count = 0
      }
      count += 1
      return count > countMax
    }
  }

  /// The smallest grant of bytes that is no control frame.
  private static var grantBytesMin: Int { 16 * 1024 }

  /// The maximum number of control frames in the window. A trusted connection carries the cancels of many callers.
  var controlFramesMax: Int { limits.controlFramesMax * (isTrusted ? 100 : 1) }
  var executingMax: Int { isTrusted ? limits.executingCallsMaxTrusted : limits.executingCallsMax }

  /// Interprets a request, which is a frame or an entry of a batch. `rpcMethod` is `nil` for ordinary methods.
  mutating func receive(
    _ envelope: Envelope, rpcMethod: RPCMethod?, _ bytes: UnsafeRawBufferPointer, nowMs: Int64, isInBatch: Bool = false
  ) -> Action {
    guard let rpcMethod else {
      guard let id = envelope.callID else { return missingID(nowMs: nowMs) }
      return refusal.map { .refuse(id, $0) } ?? .startCall(id)
    }
    if isInBatch, rpcMethod != .ping {
      return malformed("rpc.ping is the only rpc. method allowed in a batch", id: envelope.callID, nowMs: nowMs)
    }
    switch rpcMethod {
    case .message, .credit, .end: return receiveStreamFrame(rpcMethod, envelope, bytes, nowMs: nowMs)
    case .hello, .prove, .ping, .cancel, .unknown: break
    }
    if let flood = countControl(nowMs: nowMs) { return .close(flood) }
    if rpcMethod == .cancel {
      guard let id = target(envelope, bytes)?.id, let call = openCalls[id] else { return .ignore }
      return .cancel(call)
    }
    guard let id = envelope.callID else { return rpcMethod == .unknown ? .ignore : missingID(nowMs: nowMs) }
    switch rpcMethod {
    case .hello:
      guard !hasSaidHello else {
        return .refuse(
          id,
          RPCError(
            .failedPrecondition, "rpc.hello was already received", reason: "HELLO_REPEATED", processed: false))
      }
      hasSaidHello = true
      return .hello(id, envelope.params)
    case .prove: return .prove(id, envelope.params)
    case .ping: return .pong(id)
    default:
      return .refuse(
        id,
        RPCError(
          .unimplemented, "the wire protocol has no such extension", reason: "METHOD_UNKNOWN", processed: false,
          protocolFailure: .unknownMethod))
    }
  }

  private mutating func missingID(nowMs: Int64) -> Action {
    malformed(
      EnvelopeFault(
        kind: .invalid, message: "id is missing: without it a call would get no response", id: nil,
        reason: "ID_MISSING"), nowMs: nowMs)
  }

  /// The error for a new call, if calls are not accepted now.
  var refusal: RPCError? {
    if isDraining {
      return RPCError(.unavailable, "the server accepts no new calls", reason: "DRAINING", processed: false)
    }
    guard executingCount >= executingMax else { return nil }
    return RPCError(
      .resourceExhausted, "\(executingCount) calls are already running on this connection, which is the limit",
      reason: "TOO_MANY_CALLS", retryAfterMs: 100, processed: false)
  }

  private mutating func receiveStreamFrame(
    _ method: RPCMethod, _ envelope: Envelope, _ bytes: UnsafeRawBufferPointer, nowMs: Int64
  ) -> Action {
    let isCovered = method != .message || connectionCredit.take(bytes: bytes.count)
    guard let target = target(envelope, bytes), let id = target.id, let call = openCalls[id] else {
      // Frames cross a response on the wire; only frames beyond those that can be in flight count as control frames.
      if strayAllowance > 0 {
        strayAllowance -= 1
        return method == .message ? .discard : .ignore
      }
      return countControl(nowMs: nowMs).map { .close($0) } ?? (method == .message ? .discard : .ignore)
    }
    switch method {
    case .message:
      guard let message = target.message else {
        return malformed("message is missing in rpc.message", id: nil, nowMs: nowMs)
      }
      return isCovered ? .deliver(call, message) : .exceeds(call)
    case .credit:
      guard let grant = target.grant else {
        return malformed(
          "messages or bytes in rpc.credit must be 1 to 2^31 - 1, and neither negative", id: nil, nowMs: nowMs)
      }
      // A grant of a few messages and bytes is legal, but not worth a frame.
      if grant.messages < 4, grant.bytes < Self.grantBytesMin, let flood = countControl(nowMs: nowMs) {
        return .close(flood)
      }
      return .credit(call, grant)
    default: return .halfClose(call)
    }
  }

  /// Records a frame that is not a valid request; it counts towards the limit on malformed requests.
  mutating func malformed(_ message: String, id: CallID?, nowMs: Int64) -> Action {
    malformed(EnvelopeFault(kind: .invalid, message: message, id: id), nowMs: nowMs)
  }

  mutating func malformed(_ fault: EnvelopeFault, nowMs: Int64) -> Action {
    let countMax = limits.malformedRequestsMax
    guard malformedFrames.exceeds(countMax, windowMs: limits.floodWindowMs, nowMs: nowMs) else {
      return .refuse(fault.id, fault.rpcError)
    }
    return .close(
      RPCError(
        .resourceExhausted, "more than \(countMax) malformed requests in \(limits.floodWindowMs) ms",
        reason: "MALFORMED_FLOOD", processed: false))
  }

  private mutating func countControl(nowMs: Int64) -> RPCError? {
    let framesMax = controlFramesMax
    guard controlFrames.exceeds(framesMax, windowMs: limits.floodWindowMs, nowMs: nowMs) else { return nil }
    return RPCError(
      .resourceExhausted, "more than \(framesMax) control frames in \(limits.floodWindowMs) ms",
      reason: "CONTROL_FLOOD", processed: false)
  }
}

// MARK: - events from the connection

extension ServerConnectionState {
  /// Registers a call. Returns false if its id is in use.
  @inline(__always)
  mutating func open(_ call: Call, id: CallID) -> Bool {
    guard openCalls.insert(call, for: id) else { return false }
    executingCount += 1
    return true
  }

  /// Refuses a request whose id an open call, or an earlier entry of its batch, has.
  ///
  /// The error has no id: a client that pairs responses by id would take it for the open call's response.
  mutating func idInUse(_ id: CallID, nowMs: Int64) -> Action {
    malformed(
      EnvelopeFault(
        kind: .invalid, message: "the id is in use by an open call", id: nil, reason: "ID_IN_USE",
        metadata: ["id": id.jsonText]), nowMs: nowMs)
  }

  /// Records the response to a call; later frames for it are strays.
  mutating func answered(_ id: CallID, streamed: Bool) {
    openCalls.remove(id)
    if streamed { strayAllowance = min(strayAllowance + 2 * limits.streamCredit.messages, 10_000) }
  }

  /// Records that the call's handler has ended, possibly after its response.
  mutating func handlerEnded() { executingCount -= 1 }

  /// Records that the peer presented the internal token.
  mutating func trust() { isTrusted = true }

  /// Stops accepting new calls.
  mutating func drain() { isDraining = true }

  /// Whether the connection is draining and all calls and handlers have ended.
  var isDrained: Bool { isDraining && openCalls.isEmpty && executingCount == 0 }

  /// Returns the bytes of the connection's credit to grant now; 0 for none.
  ///
  /// - Parameter queuedBytes: The bytes of messages that no handler has read yet.
  @inline(__always)
  mutating func connectionGrant(queuedBytes: Int) -> Int {
    let sizeBytes = isTrusted ? limits.connectionCreditBytesTrusted : limits.connectionCreditBytes
    return connectionCredit.grant(upTo: sizeBytes, queuedBytes: queuedBytes)
  }

  private func target(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) -> StreamParams? {
    envelope.params.flatMap { StreamParams(bytes, $0) }
  }
}
