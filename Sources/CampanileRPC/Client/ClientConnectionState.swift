import CampanileBase

/// The client's half of the wire protocol as a state machine without I/O: interprets each received frame in the current
/// state.
///
/// `Call` is the connection's object for an open call. Ranges refer to the received frame.
struct ClientConnectionState<Call> {
  enum Phase: Equatable {
    /// No response to `rpc.hello` yet: calls cannot be opened.
    case greeting
    case ready
    /// No new calls; open ones finish.
    case draining
    case closed
  }

  /// The connection's next step after a frame.
  enum Action {
    case ignore
    /// The greeting is over: calls may be opened.
    case ready
    /// The server knows the internal token: send this client's proof.
    case prove(String)
    /// The call has ended with this `result`.
    case finish(Call, Range<Int>)
    /// The call has ended with this `error`.
    case fail(Call, Range<Int>)
    /// The call has ended because the server violated the protocol. Send a cancel for `id`.
    case abort(Call, id: UInt64, RPCError)
    /// One message of a response stream.
    case deliver(Call, Range<Int>)
    /// The server grants more credit to a call.
    case credit(Call, StreamCredit)
    /// The server grants credit to the connection, which had none: calls that wait for it may send.
    case creditAll
    /// Respond to the server's ping.
    case pong(CallID)
    /// Respond that the method is unknown.
    case refuse(CallID)
    /// The server accepts no new calls. It refuses those that it has not read yet.
    case drain
    /// The connection cannot continue.
    case close(RPCError)
  }

  private(set) var phase = Phase.greeting
  private(set) var hello = ServerHello()
  private var table = CallTable<Call>()
  /// The credit for the messages of all streams together, once the greeting is over.
  private var connectionCredit = ConnectionCredit(bytes: ConnectionCredit.initialBytes)
  private let openCallsMax: Int
  private let streamCredit: StreamCredit
  private let hasToken: Bool
  /// Set if the client proves its token instead of sending it; nil once the proof was sent.
  private var prover: HelloProver?
  private var isProving = false
  /// The highest id whose request was written to the socket. The server has not seen any higher id.
  private var handedOverID: UInt64 = 0
  /// Responses and stream frames for calls that are not open, for example because they crossed a cancel.
  private(set) var strayCount = 0

  /// Creates the state of a new connection.
  ///
  /// - Parameter streamCredit: The credit that the client announces to the server.
  init(
    openCallsMax: Int, hasToken: Bool, streamCredit: StreamCredit = .initial, prover: HelloProver? = nil
  ) {
    self.openCallsMax = openCallsMax
    self.streamCredit = streamCredit
    self.hasToken = hasToken || prover != nil
    self.prover = prover
  }

  var openCount: Int { table.count }
  /// Whether a call may be opened now.
  @inline(__always) var hasRoom: Bool { phase == .ready && table.count < min(openCallsMax, hello.openCallsMax) }
  /// Whether the connection is draining and its last call has ended.
  var isDrained: Bool { phase == .draining && table.count == 0 }

  // MARK: - events from the caller

  /// Opens a call and returns its id; `nil` if there is no room.
  @inline(__always)
  mutating func open(_ call: Call, kind: CallKind) -> UInt64? {
    guard hasRoom else { return nil }
    return table.insert(
      call, sendCredit: kind.streamsRequests ? hello.streamCredit : .zero,
      receiveCredit: kind.streamsResponses ? streamCredit : .zero)
  }

  /// Returns whether a message of the call may be sent now.
  func maySend(_ id: UInt64) -> Bool { connectionCredit.bytes > 0 && table.sendCredit(id).allowsMessage }

  /// Takes the credit for a message that was sent.
  mutating func sent(_ id: UInt64, bytes sizeBytes: Int) {
    _ = connectionCredit.take(bytes: sizeBytes)
    _ = table.withSlot(id) { slot, _ in slot.sendCredit.take(bytes: sizeBytes) }
  }

  /// Returns the credit for messages of the call, whose bytes are limited by those of the connection.
  func sendCredit(_ id: UInt64) -> StreamCredit {
    let credit = table.sendCredit(id)
    return connectionCredit.bytes < credit.bytes
      ? StreamCredit(messages: credit.messages, bytes: connectionCredit.bytes) : credit
  }

  /// Returns the server's credit for messages of the call.
  func receiveCredit(_ id: UInt64) -> StreamCredit { table.receiveCredit(id) }

  /// Grants the server more credit. Returns the part that fits below the maximum, for the frame to send; nil for none.
  mutating func grant(_ id: UInt64, _ credit: StreamCredit) -> StreamCredit? {
    table.withSlot(id) { slot, _ in
      let grant = slot.receiveCredit.fitting(credit)
      return grant != .zero && slot.receiveCredit.add(grant) ? grant : nil
    } ?? nil
  }

  /// Removes a call that ended on this side. Returns false if it was not open.
  mutating func forget(_ id: UInt64) -> Bool { table.remove(id) != nil }

  /// Returns whether the request of `id` was written to the socket.
  func wasHandedOver(_ id: UInt64) -> Bool { id <= handedOverID }

  /// Records that every frame encoded so far was written to the socket.
  mutating func handedOver() { handedOverID = table.lastID }

  /// Marks the connection as closed. Returns the open calls, and for each whether the server may have seen it.
  mutating func close() -> [(call: Call, handedOver: Bool)] {
    phase = .closed
    let open = table.all
    table = CallTable()
    return open.map { ($0.call, wasHandedOver($0.id)) }
  }

  /// All open calls.
  var openCalls: [Call] { table.all.map(\.call) }

  // MARK: - events from the server

  /// Interprets one frame.
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

  /// Interprets a response to one of this connection's own requests, whose ids are strings, or an error without a
  /// readable id.
  private mutating func receiveOwn(_ envelope: Envelope, _ bytes: UnsafeRawBufferPointer) -> Action {
    guard case .call(.string(let name)) = envelope.id else {
      let error = envelope.error.map { RPCError(errorObject: bytes, $0) }
      // The request with the repeated id is this side's fault; the open call with that id continues.
      if error?.reason == "ID_IN_USE" { return stray() }
      return .close(error ?? LocalFailure.peerMalformed("no id"))
    }
    guard phase == .greeting, name == (isProving ? ServerHello.proveID : ServerHello.requestID) else { return .ignore }
    if let error = envelope.error.map({ RPCError(errorObject: bytes, $0) }) {
      // A minimal server need not implement rpc.hello, but a token must have been accepted.
      guard error.code == .unimplemented, !hasToken else { return .close(error) }
    } else if let result = envelope.result {
      let answer = ServerHello(bytes, result)
      if isProving {
        hello.openCallsMax = answer.openCallsMax
        hello.controlFramesMax = answer.controlFramesMax
      } else {
        guard answer.version == HelloParams.version else { return .close(HelloParams.versionUnsupported) }
        hello = answer
        connectionCredit = ConnectionCredit(bytes: answer.connectionCreditBytes)
      }
    }
    if let prover {
      // The proof is not sent to a server that does not know the token.
      guard let proof = prover.proof(for: hello) else { return .close(LocalFailure.serverUnproven) }
      self.prover = nil
      isProving = true
      return .prove(proof)
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
    if EnvelopeScanner.equals(bytes, envelope.method, "rpc.drain") { return receiveDrain() }
    return envelope.callID.map { .refuse($0) } ?? .ignore
  }

  private mutating func receiveStreamFrame(
    _ envelope: Envelope, _ bytes: UnsafeRawBufferPointer, isMessage: Bool
  ) -> Action {
    guard let range = envelope.params, let params = StreamParams(bytes, range) else {
      return .close(LocalFailure.peerMalformed("a stream frame without an id"))
    }
    if !isMessage, params.id == nil { return receiveConnectionCredit(params) }
    guard case .number(let id) = params.id else {
      return .close(LocalFailure.peerMalformed("a stream frame without an id"))
    }
    if isMessage {
      guard let message = params.message else {
        return .close(LocalFailure.peerMalformed("rpc.message without a message"))
      }
      return deliver(id, message, sizeBytes: bytes.count)
    }
    guard let grant = params.grant else {
      return .close(LocalFailure.peerMalformed("rpc.credit without 1 to 2^31 - 1 messages or bytes"))
    }
    let credited = table.withSlot(id) { slot, call -> Call? in slot.sendCredit.add(grant) ? call : nil }
    guard let credited else { return stray() }
    if let call = credited { return .credit(call, grant) }
    let error = Self.overrun("granted more credit than 2^31 - 1 messages or bytes")
    return table.remove(id).map { .abort($0, id: id, error) } ?? .ignore
  }

  private mutating func receiveConnectionCredit(_ params: StreamParams) -> Action {
    let wasEmpty = connectionCredit.bytes <= 0
    guard let grant = params.grant, grant.bytes > 0, connectionCredit.add(grant.bytes) else {
      return .close(LocalFailure.peerMalformed("rpc.credit without an id and up to 2^31 - 1 bytes"))
    }
    return wasEmpty && connectionCredit.bytes > 0 ? .creditAll : .ignore
  }

  private mutating func deliver(_ id: UInt64, _ message: Range<Int>, sizeBytes: Int) -> Action {
    let taken = table.withSlot(id) { slot, call -> Call? in
      guard slot.receiveCredit.allowsMessage else { return nil }
      slot.receiveCredit.take(bytes: sizeBytes)
      return call
    }
    guard let taken else { return stray() }
    if let call = taken { return .deliver(call, message) }
    guard let call = table.remove(id) else { return .ignore }
    return .abort(call, id: id, Self.overrun("sent more than the client had granted"))
  }

  private static func overrun(_ what: String) -> RPCError {
    RPCError(.resourceExhausted, "the server \(what)", reason: "STREAM_OVERRUN")
  }

  private mutating func stray() -> Action {
    strayCount &+= 1
    return .ignore
  }

  /// Opens no more calls. Returns false if none could be opened yet.
  @discardableResult
  mutating func retire() -> Bool {
    guard phase == .ready || phase == .draining else { return false }
    phase = .draining
    return true
  }

  private mutating func receiveDrain() -> Action {
    switch phase {
    case .ready, .draining:
      retire()
      return .drain
    // If the connection became ready now, the draining server would close it in the middle of its first calls.
    case .greeting: return .close(LocalFailure.draining)
    case .closed: return .ignore
    }
  }
}
