/// The server's half of the wire's rules: what a received frame means, given what came before. It does no I/O.
///
/// `Call` is whatever the connection keeps for an open call.
struct ServerConnectionState<Call> {
  /// What the connection has to do about a frame.
  enum Action {
    case ignore
    /// Start a call; `nil` for a request without an id, which is not answered.
    case startCall(CallID?)
    /// `rpc.message`, with the range of the message.
    case deliver(Call, Range<Int>)
    /// `rpc.end`
    case halfClose(Call)
    /// `rpc.cancel`
    case cancel(Call)
    /// `rpc.credit`
    case credit(Call, Int)
    /// `rpc.hello`
    case hello(CallID?, Range<Int>?)
    /// `rpc.ping`: an empty result.
    case pong(CallID)
    /// Answer and go on.
    case refuse(CallID?, RPCError)
    /// Answer with an error whose id is null, and close.
    case close(RPCError)
  }

  private let limits: WireLimits
  private(set) var openCalls = OpenCalls<Call>()
  /// Handlers that run, also those whose call was answered already.
  private(set) var executingCount = 0
  private(set) var isTrusted = false
  private(set) var isDraining = false
  private(set) var lastAcceptedID: CallID?
  private var hasSaidHello = false
  private var malformedCount = 0
  private var controlCount = 0
  private var controlWindowStartMs: Int64 = 0
  /// Stream frames that may still be under way to calls that have ended.
  private var strayAllowance = 0

  init(limits: WireLimits) { self.limits = limits }

  var executingMax: Int { isTrusted ? limits.executingCallsMaxTrusted : limits.executingCallsMax }

  /// A frame, or an entry of a batch, that is a request. `method` is `nil` for ordinary methods.
  mutating func receive(_ envelope: Envelope, rpcMethod: RPCMethod?, _ bytes: UnsafeRawBufferPointer, nowMs: Int64)
    -> Action
  {
    guard let rpcMethod else { return receiveCall(envelope) }
    switch rpcMethod {
    case .message, .credit, .end: return receiveStreamFrame(rpcMethod, envelope, bytes, nowMs: nowMs)
    case .hello, .ping, .cancel, .unknown: break
    }
    if let flood = countControl(nowMs: nowMs) { return .close(flood) }
    switch rpcMethod {
    case .hello:
      guard !hasSaidHello else { return refuse(envelope.callID, "rpc.hello was said already", "HELLO_REPEATED") }
      hasSaidHello = true
      return .hello(envelope.callID, envelope.params)
    case .ping: return envelope.callID.map { .pong($0) } ?? .ignore
    case .cancel:
      guard let target = target(envelope, bytes), let call = openCalls[target.id] else { return .ignore }
      return .cancel(call)
    default:
      guard let id = envelope.callID else { return .ignore }
      return .refuse(
        id,
        RPCError(
          .unimplemented, "the wire has no such extension", reason: "METHOD_UNKNOWN", processed: false,
          protocolFailure: .unknownMethod))
    }
  }

  private func receiveCall(_ envelope: Envelope) -> Action {
    if isDraining {
      return .refuse(
        envelope.callID,
        RPCError(.unavailable, "the server takes no new calls here", reason: "DRAINING", processed: false))
    }
    if executingCount >= executingMax {
      return .refuse(
        envelope.callID,
        RPCError(
          .resourceExhausted, "\(executingCount) calls are executing on this connection, which is its limit",
          reason: "TOO_MANY_CALLS", retryAfterMs: 100, processed: false))
    }
    return .startCall(envelope.callID)
  }

  private mutating func receiveStreamFrame(
    _ method: RPCMethod, _ envelope: Envelope, _ bytes: UnsafeRawBufferPointer, nowMs: Int64
  ) -> Action {
    guard let target = target(envelope, bytes), let call = openCalls[target.id] else {
      // Frames cross an answer on the wire; only more of them than can be under way count as noise.
      if strayAllowance > 0 {
        strayAllowance -= 1
        return .ignore
      }
      return countControl(nowMs: nowMs).map { .close($0) } ?? .ignore
    }
    switch method {
    case .message:
      guard let message = target.message else { return malformed("rpc.message without a message", id: nil) }
      return .deliver(call, message)
    case .credit:
      guard let messages = target.messages, messages > 0, messages <= 1 << 31 else {
        return malformed("rpc.credit must grant 1 to 2^31 messages", id: nil)
      }
      // A grant of a single message is legal but noisy: it is not worth a frame each.
      if messages < 4, let flood = countControl(nowMs: nowMs) { return .close(flood) }
      return .credit(call, Int(messages))
    default: return .halfClose(call)
    }
  }

  /// A frame that is no request: counts towards the limit on malformed ones.
  mutating func malformed(_ message: String, id: CallID?) -> Action {
    malformed(EnvelopeFault(kind: .invalid, message: message, id: id))
  }

  mutating func malformed(_ fault: EnvelopeFault) -> Action {
    malformedCount += 1
    if malformedCount > limits.malformedRequestsMax {
      return .close(
        RPCError(
          .resourceExhausted, "more than \(limits.malformedRequestsMax) malformed requests", reason: "MALFORMED_FLOOD",
          processed: false))
    }
    return .refuse(fault.id, fault.rpcError)
  }

  private mutating func countControl(nowMs: Int64) -> RPCError? {
    if nowMs - controlWindowStartMs >= limits.controlWindowMs {
      controlWindowStartMs = nowMs
      controlCount = 0
    }
    controlCount += 1
    // A trusted link carries the cancels of many callers.
    guard controlCount > limits.controlFramesMax * (isTrusted ? 100 : 1) else { return nil }
    return RPCError(
      .resourceExhausted, "more than \(limits.controlFramesMax) control frames in \(limits.controlWindowMs) ms",
      reason: "CONTROL_FLOOD", processed: false)
  }

  private func refuse(_ id: CallID?, _ message: String, _ reason: String) -> Action {
    .refuse(id, RPCError(.failedPrecondition, message, reason: reason, processed: false))
  }
}

// MARK: - what the connection reports

extension ServerConnectionState {
  /// Registers a call. Answers the refusal when its id is in use.
  @inline(__always)
  mutating func open(_ call: Call, id: CallID?) -> RPCError? {
    if let id {
      guard openCalls.insert(call, for: id) else {
        malformedCount += 1
        return RPCError(
          .invalidArgument, "the id is in use by an open call", reason: "ID_IN_USE", processed: false,
          protocolFailure: .invalidEnvelope)
      }
      lastAcceptedID = id
    }
    executingCount += 1
    return nil
  }

  /// The call was answered; frames for it are strays from now on.
  mutating func answered(_ id: CallID, streamed: Bool) {
    openCalls.remove(id)
    if streamed { strayAllowance = min(strayAllowance + 2 * WireLimits.streamCredit, 10_000) }
  }

  /// The call's handler has ended, which may be after its answer.
  mutating func handlerEnded() { executingCount -= 1 }

  /// The peer presented the internal token.
  mutating func trust() { isTrusted = true }

  /// No new calls from now on.
  mutating func drain() { isDraining = true }

  /// Whether nothing is left to do after a drain.
  var isDrained: Bool { isDraining && openCalls.isEmpty && executingCount == 0 }

  private struct Target {
    var id: CallID
    var message: Range<Int>?
    var messages: Int64?
  }

  private func target(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) -> Target? {
    guard let params = envelope.params, let read = StreamParams(bytes, params), let id = read.id else { return nil }
    return Target(id: id, message: read.message, messages: read.messages)
  }
}
