/// The client's half of the wire's rules: what a received frame means, given what came before. It does no I/O.
///
/// `Call` is whatever the connection keeps for an open call. Ranges lie in the frame that was received.
struct ClientConnectionState<Call> {
  enum Phase: Equatable {
    /// `rpc.hello` was not answered yet: no calls.
    case greeting
    case ready
    /// The server takes no new calls; open ones finish.
    case draining
    case closed
  }

  /// What the connection has to do about a frame.
  enum Action {
    case ignore
    /// The server has answered `rpc.hello`: calls may be opened.
    case ready
    /// The call has ended with this `result`.
    case finish(Call, Range<Int>)
    /// The call has ended with this `error`.
    case fail(Call, Range<Int>)
    /// The call has ended since the server broke its rules; the server is told to cancel `id`.
    case abort(Call, id: UInt64, RPCError)
    /// One message of a response stream.
    case deliver(Call, Range<Int>)
    /// The server takes so many messages more.
    case credit(Call, Int)
    /// Answer the server's ping.
    case pong(CallID)
    /// Answer that there is no such method.
    case refuse(CallID)
    /// The server takes no new calls, and has not seen these.
    case drain(unseen: [Call])
    /// Nothing sensible can follow.
    case close(RPCError)
  }

  private(set) var phase = Phase.greeting
  private(set) var hello = ServerHello()
  private var table = CallTable<Call>()
  private let openCallsMax: Int
  private let hasToken: Bool
  /// The highest id whose request was given to the socket: what is above it, no server has seen.
  private var handedOverID: UInt64 = 0
  /// Responses and stream frames for calls that are not open, for example those that crossed a cancel.
  private(set) var strayCount = 0

  init(openCallsMax: Int, hasToken: Bool) {
    self.openCallsMax = openCallsMax
    self.hasToken = hasToken
  }

  var openCount: Int { table.count }
  /// Whether a call may be opened now.
  @inline(__always) var hasRoom: Bool { phase == .ready && table.count < min(openCallsMax, hello.openCallsMax) }
  /// Whether a drained connection has nothing left to do.
  var isDrained: Bool { phase == .draining && table.count == 0 }

  // MARK: - what the caller does

  /// Opens a call and answers its id; `nil` when there is no room.
  @inline(__always)
  mutating func open(_ call: Call, kind: CallKind) -> UInt64? {
    guard hasRoom else { return nil }
    return table.insert(
      call, sendCredit: kind.streamsRequests ? Int32(WireLimits.streamCredit) : 0,
      receiveCredit: kind.streamsResponses ? Int32(WireLimits.streamCredit) : 0)
  }

  /// Takes one credit for a message. False when there is none or the call is not open.
  mutating func takeSendCredit(_ id: UInt64) -> Bool {
    table.withSlot(id) { slot, _ in
      guard slot.sendCredit > 0 else { return false }
      slot.sendCredit -= 1
      return true
    } ?? false
  }

  func sendCredit(_ id: UInt64) -> Int { table.sendCredit(id) }

  /// Lets the server send more. False when there is nothing to tell it.
  mutating func grant(_ id: UInt64, _ messages: Int) -> Bool {
    guard messages > 0, messages <= Int(Int32.max) else { return false }
    return table.withSlot(id) { slot, _ in
      let (sum, overflow) = slot.receiveCredit.addingReportingOverflow(Int32(messages))
      slot.receiveCredit = overflow ? .max : sum
      return true
    } ?? false
  }

  /// Forgets a call that ended on this side. False when it was not open.
  mutating func forget(_ id: UInt64) -> Bool { table.remove(id) != nil }

  /// Whether the request of `id` was given to the socket.
  func wasHandedOver(_ id: UInt64) -> Bool { id <= handedOverID }

  /// Every frame written so far is with the socket.
  mutating func handedOver() { handedOverID = table.lastID }

  /// The connection is gone. Answers the calls that were open, and whether the server may have seen each.
  mutating func close() -> [(call: Call, handedOver: Bool)] {
    phase = .closed
    let open = table.all
    table = CallTable()
    return open.map { ($0.call, wasHandedOver($0.id)) }
  }

  /// The calls that are open.
  var openCalls: [Call] { table.all.map(\.call) }

  // MARK: - what the server does

  /// One frame.
  @inline(__always)
  mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Action {
    let envelope: Envelope
    do { envelope = try EnvelopeScanner.scan(bytes) } catch {
      return .close(LocalFailure.peerMalformed(error.message))
    }
    guard !envelope.hasMethod else { return receiveRequest(envelope, bytes) }
    guard case .call(.number(let id)) = envelope.id else { return receiveOwn(envelope, bytes) }
    guard let call = table.remove(id) else {
      strayCount &+= 1
      return .ignore
    }
    if let result = envelope.result { return .finish(call, result) }
    return .fail(call, envelope.error ?? 0..<0)
  }

  /// A response to this connection's own requests, whose ids are strings, or an error about a request that was not read.
  private mutating func receiveOwn(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) -> Action {
    guard case .call(.string(let name)) = envelope.id else {
      return .close(envelope.error.map { RPCError(errorObject: bytes, $0) } ?? LocalFailure.peerMalformed("no id"))
    }
    guard phase == .greeting, name == ServerHello.requestID else { return .ignore }
    if let error = envelope.error.map({ RPCError(errorObject: bytes, $0) }) {
      // A small server need not know rpc.hello; but a token must have been taken.
      guard error.code == .unimplemented, !hasToken else { return .close(error) }
    } else if let result = envelope.result {
      hello = ServerHello(bytes, result)
    }
    phase = .ready
    return .ready
  }

  private mutating func receiveRequest(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) -> Action {
    switch RPCMethod(bytes, envelope.method) {
    case .message: return receiveStreamFrame(envelope, bytes, isMessage: true)
    case .credit: return receiveStreamFrame(envelope, bytes, isMessage: false)
    case .ping: return envelope.callID.map { .pong($0) } ?? .ignore
    default: break
    }
    if EnvelopeScanner.equals(bytes, envelope.method, "rpc.drain") { return receiveDrain(envelope, bytes) }
    return envelope.callID.map { .refuse($0) } ?? .ignore
  }

  private mutating func receiveStreamFrame(
    _ envelope: Envelope, _ bytes: UnsafeRawBufferPointer, isMessage: Bool
  ) -> Action {
    guard let range = envelope.params, let params = StreamParams(bytes, range), case .number(let id) = params.id else {
      return .close(LocalFailure.peerMalformed("a stream frame without an id"))
    }
    if isMessage {
      guard let message = params.message else {
        return .close(LocalFailure.peerMalformed("rpc.message without a message"))
      }
      return deliver(id, message)
    }
    guard let messages = params.messages, messages > 0 else {
      return .close(LocalFailure.peerMalformed("rpc.credit without messages"))
    }
    let action = table.withSlot(id) { slot, call in
      slot.sendCredit = Int32(clamping: Int64(slot.sendCredit) + min(messages, Int64(Int32.max)))
      return Action.credit(call, Int(min(messages, Int64(Int32.max))))
    }
    return action ?? stray()
  }

  private mutating func deliver(_ id: UInt64, _ message: Range<Int>) -> Action {
    let taken = table.withSlot(id) { slot, call -> Call? in
      guard slot.receiveCredit > 0 else { return nil }
      slot.receiveCredit -= 1
      return call
    }
    guard let taken else { return stray() }
    if let call = taken { return .deliver(call, message) }
    guard let call = table.remove(id) else { return .ignore }
    let error = RPCError(
      .resourceExhausted, "the server sent more messages than it was granted", reason: "STREAM_OVERRUN")
    return .abort(call, id: id, error)
  }

  private mutating func stray() -> Action {
    strayCount &+= 1
    return .ignore
  }

  private mutating func receiveDrain(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) -> Action {
    switch phase {
    case .ready, .draining: phase = .draining
    // One that was ready a moment later would be closed in the middle of its first calls.
    case .greeting: return .close(LocalFailure.draining)
    case .closed: return .ignore
    }
    // Without a readable last id nothing is known about the open calls, so they stay.
    guard let range = envelope.params, let lastID = DrainParams.lastID(bytes, range) else { return .drain(unseen: []) }
    let unseen = table.all.filter { $0.id > lastID }
    for entry in unseen { _ = table.remove(entry.id) }
    return .drain(unseen: unseen.map(\.call))
  }
}
