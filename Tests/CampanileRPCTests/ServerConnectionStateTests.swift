import CampanileBase
import Testing

@testable import CampanileRPC

@Suite struct ServerConnectionStateTests {
  @Test(arguments: [(false, 200), (true, 20_000)])
  func controlFloodNamesTheLimitOfItsConnection(isTrusted: Bool, framesMax: Int) {
    var state = ServerConnectionState<String>(limits: WireLimits())
    if isTrusted { state.trust() }
    var floods: [String] = []
    for _ in 0...framesMax {
      let action = state.receive(
        Envelope(id: .call(.number(1))), rpcMethod: .ping, UnsafeRawBufferPointer(start: nil, count: 0), nowMs: 0)
      if case .close(let error) = action { floods.append("\(error.reason): \(error.message)") }
    }
    #expect(floods == ["CONTROL_FLOOD: more than \(framesMax) control frames in 30000 ms"])
  }

  /// Returns a description of the state machine's action for a stream frame.
  private func receive(_ state: inout ServerConnectionState<String>, _ method: RPCMethod, _ params: String) -> String {
    let frame = #"{"jsonrpc":"2.0","method":"x","params":{\#(params)}}"#
    return Array(frame.utf8).withUnsafeBytes { bytes in
      guard let envelope = try? EnvelopeScanner.scan(bytes) else { return "not an envelope" }
      switch state.receive(envelope, rpcMethod: method, bytes, nowMs: 0) {
      case .deliver(let call, _): return "deliver \(call)"
      case .exceeds(let call): return "exceeds \(call)"
      case .credit(let call, let credit): return "credit \(call) \(credit.messages) \(credit.bytes)"
      case .discard: return "discard"
      case .refuse(_, let error), .close(let error): return error.reason
      default: return "other"
      }
    }
  }

  @Test func creditHasMessagesOrBytes() {
    var state = ServerConnectionState<String>(limits: WireLimits())
    _ = state.open("a", id: .number(1))
    #expect(receive(&state, .credit, #""id":1,"messages":5"#) == "credit a 5 0")
    #expect(receive(&state, .credit, #""id":1,"bytes":7"#) == "credit a 0 7")
    #expect(receive(&state, .credit, #""id":1,"messages":1,"bytes":2147483647"#) == "credit a 1 2147483647")
    for bad in ["", #","messages":0,"bytes":0"#, #","messages":-1,"bytes":9"#, #","messages":9,"bytes":2147483648"#] {
      #expect(receive(&state, .credit, #""id":1\#(bad)"#) == "ENVELOPE_INVALID", "\(bad)")
    }
  }

  @Test func onlySmallCreditsAreControlFrames() {
    var state = ServerConnectionState<String>(limits: WireLimits())
    _ = state.open("a", id: .number(1))
    for _ in 0..<1_000 {
      #expect(receive(&state, .credit, #""id":1,"messages":1,"bytes":16384"#) == "credit a 1 16384")
    }
    for _ in 0..<200 { #expect(receive(&state, .credit, #""id":1,"messages":3,"bytes":16383"#) == "credit a 3 16383") }
    #expect(receive(&state, .credit, #""id":1,"bytes":1"#) == "CONTROL_FLOOD")
  }

  @Test func messagesOfAllCallsTakeTheConnectionsCredit() {
    var limits = WireLimits()
    limits.connectionCreditBytes = 1
    #expect(limits.connectionCreditBytes == 64 << 20)
    var state = ServerConnectionState<String>(limits: limits)
    for (name, id) in [("a", 1), ("b", 2)] { _ = state.open(name, id: .number(UInt64(id))) }
    let text = String(repeating: "x", count: 1 << 20)
    for index in 0..<64 {
      #expect(receive(&state, .message, #""id":\#(index % 2 + 1),"message":"\#(text)""#).hasPrefix("deliver"))
    }
    #expect(receive(&state, .message, #""id":1,"message":1"#) == "exceeds a")
    state.answered(.number(1), streamed: true)
    #expect(receive(&state, .message, #""id":1,"message":1"#) == "discard")
    // Everything waits for handlers: nothing can be granted.
    let grants = [64 << 20, 63 << 20].map { state.connectionGrant(queuedBytes: $0) }
    #expect(grants[0] == 0 && grants[1] > 0)
    #expect(receive(&state, .message, #""id":2,"message":1"#) == "deliver b")
  }

  @Test func malformedRequestsAreLimitedByTimeAndNotForLife() {
    var state = ServerConnectionState<String>(limits: WireLimits())
    func floods(nowMs: Int64) -> String? {
      guard case .close(let error) = state.malformed("x", id: nil, nowMs: nowMs) else { return nil }
      return error.reason
    }
    for second in 0..<300 { for _ in 0..<6 { #expect(floods(nowMs: Int64(second) * 1000) == nil) } }
    for _ in 0..<200 { #expect(floods(nowMs: 400_000) == nil) }
    #expect(floods(nowMs: 429_999) == "MALFORMED_FLOOD")
  }
}
