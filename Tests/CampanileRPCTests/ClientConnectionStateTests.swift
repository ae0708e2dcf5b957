import CampanileBase
import Testing

@testable import CampanileRPC

/// Transcripts of received frames and the resulting actions. Calls are strings.
@Suite struct ClientConnectionStateTests {
  private static let greeting =
    #"{"jsonrpc":"2.0","id":"hello","result":{"version":"1","agent":"s","maxFrameBytes":1000,"maxConcurrentCalls":3}}"#

  /// Returns a description of the state machine's action for a frame.
  private func receive(_ state: inout ClientConnectionState<String>, _ frame: String) -> String {
    Array(frame.utf8).withUnsafeBytes { bytes in
      func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
      switch state.receive(bytes) {
      case .ignore: return "ignore"
      case .ready: return "ready"
      case .prove(let proof): return "prove \(proof)"
      case .finish(let call, let range): return "finish \(call) \(text(range))"
      case .fail(let call, let range): return "fail \(call) \(text(range))"
      case .abort(let call, let id, let error): return "abort \(call) \(id) \(error.reason)"
      case .deliver(let call, let range): return "deliver \(call) \(text(range))"
      case .credit(let call, let credit): return "credit \(call) \(credit.messages) \(credit.bytes)"
      case .creditAll: return "credit all"
      case .pong(let id): return "pong \(id)"
      case .refuse(let id): return "refuse \(id)"
      case .drain: return "drain"
      case .close(let error): return "close \(error.code) \(error.reason)"
      }
    }
  }

  @Test func tokenIsProvedOnlyToServerThatProvesIt() throws {
    let token = "internal-token-of-the-state-tests"
    let nonce = InternalTokenProof.nonce([UInt8](repeating: 1, count: 32))
    let prover = HelloProver(token: token, nonce: nonce)
    var cheated = ClientConnectionState<String>(openCallsMax: 10, hasToken: false, prover: prover)
    #expect(receive(&cheated, Self.greeting) == "close UNAUTHENTICATED SERVER_UNPROVEN")
    let challenge = try #require(InternalTokenAuthenticator(token: token).challenge(nonce: nonce))
    let answer =
      #"{"jsonrpc":"2.0","id":"hello","result":{"version":"1","maxFrameBytes":1000,"nonce":"\#(challenge.nonce)","#
      + #""proofs":["\#(challenge.proofs[0])"]}}"#
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: false, prover: prover)
    let proof = try #require(
      prover.proof(
        for: {
          var hello = ServerHello()
          hello.nonce = challenge.nonce
          hello.proofs = challenge.proofs
          return hello
        }()))
    #expect(receive(&state, answer) == "prove \(proof)")
    #expect(!state.hasRoom && receive(&state, answer) == "ignore")
    #expect(
      receive(&state, #"{"jsonrpc":"2.0","id":"prove","result":{"maxConcurrentCalls":7,"maxControlFrames":9}}"#)
        == "ready")
    #expect(state.hello.openCallsMax == 7 && state.hello.frameBytesMax == 1000 && state.hello.controlFramesMax == 9)
  }

  private func ready() -> ClientConnectionState<String> {
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: false)
    #expect(receive(&state, Self.greeting) == "ready")
    return state
  }

  @Test func callsCannotBeOpenedBeforeHelloResponse() {
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: false)
    #expect(state.open("a", kind: .unary) == nil)
    #expect(receive(&state, Self.greeting) == "ready")
    #expect(state.hello.frameBytesMax == 1000)
    #expect((1...3).map { state.open("\($0)", kind: .unary) } == [1, 2, 3])
    #expect(state.open("4", kind: .unary) == nil)
  }

  @Test(arguments: [#"{"version":"2"}"#, #"{"protocol":"1"}"#, "{}"])
  func serverThatChoosesNoOfferedVersionIsRefused(result: String) {
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: false)
    #expect(
      receive(&state, #"{"jsonrpc":"2.0","id":"hello","result":\#(result)}"#)
        == "close FAILED_PRECONDITION VERSION_UNSUPPORTED")
  }

  @Test func helloIsOptionalWithoutToken() {
    let unknown = #"{"jsonrpc":"2.0","id":"hello","error":{"code":-32601,"message":"what"}}"#
    var open = ClientConnectionState<String>(openCallsMax: 10, hasToken: false)
    #expect(receive(&open, unknown) == "ready")
    var secret = ClientConnectionState<String>(openCallsMax: 10, hasToken: true)
    #expect(receive(&secret, unknown) == "close UNIMPLEMENTED UNIMPLEMENTED")
  }

  @Test func rejectedTokenClosesWithServerError() {
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: true)
    let refusal =
      #"{"jsonrpc":"2.0","id":"hello","error":{"code":16,"message":"no","data":{"status":"UNAUTHENTICATED","details":[{"reason":"TOKEN_INVALID"}]}}}"#
    #expect(receive(&state, refusal) == "close UNAUTHENTICATED TOKEN_INVALID")
  }

  @Test func repliesMayArriveInAnyOrder() {
    var state = ready()
    for name in ["a", "b", "c"] { _ = state.open(name, kind: .unary) }
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":3,"result":{"x":1}}"#) == #"finish c {"x":1}"#)
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":1,"error":{"code":5}}"#) == #"fail a {"code":5}"#)
    #expect(receive(&state, #"{"id":2,"result":{},"jsonrpc":"2.0"}"#) == "finish b {}")
    #expect(state.openCount == 0)
  }

  @Test func repliesToUnknownCallsAreCountedAndIgnored() {
    var state = ready()
    _ = state.open("a", kind: .unary)
    #expect(state.forget(1) == true)
    #expect(state.forget(1) == false)
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":1,"result":{}}"#) == "ignore")
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":9007199254740991,"result":{}}"#) == "ignore")
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":"x","result":{}}"#) == "ignore")
    #expect(
      receive(&state, #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":77,"message":{}}}"#) == "ignore")
    #expect(receive(&state, #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":77,"messages":5}}"#) == "ignore")
    #expect(state.strayCount == 4)
  }

  @Test func messagesBeyondCreditAbortCall() {
    var state = ready()
    _ = state.open("s", kind: .serverStreaming)
    let message = #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1,"message":{"n":1}}}"#
    for _ in 0..<32 { #expect(receive(&state, message) == #"deliver s {"n":1}"#) }
    #expect(state.grant(1, StreamCredit(messages: 1, bytes: 0)) == StreamCredit(messages: 1, bytes: 0))
    #expect(receive(&state, message) == #"deliver s {"n":1}"#)
    #expect(receive(&state, message) == "abort s 1 STREAM_OVERRUN")
    #expect(receive(&state, message) == "ignore")
    #expect(state.grant(1, StreamCredit(messages: 16, bytes: 16)) == nil)
  }

  @Test func messageForUnaryCallAbortsIt() {
    var state = ready()
    _ = state.open("u", kind: .unary)
    #expect(
      receive(&state, #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1,"message":{}}}"#)
        == "abort u 1 STREAM_OVERRUN")
  }

  @Test func sendingConsumesCreditAndGrantsAddIt() {
    var state = ready()
    _ = state.open("s", kind: .clientStreaming)
    for _ in 0..<32 {
      #expect(state.maySend(1))
      state.sent(1, bytes: 100)
    }
    #expect(!state.maySend(1))
    #expect(
      receive(&state, #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":2}}"#) == "credit s 2 0")
    #expect(state.sendCredit(1) == StreamCredit(messages: 2, bytes: StreamCredit.initial.bytes - 3200))
    #expect(!state.maySend(2))
  }

  @Test func byteCreditMayBeOverdrawnOnce() {
    var state = ready()
    _ = state.open("s", kind: .clientStreaming)
    state.sent(1, bytes: StreamCredit.initial.bytes - 1)
    #expect(state.maySend(1))
    state.sent(1, bytes: 4_000_000)
    #expect(!state.maySend(1) && state.sendCredit(1).bytes == -3_999_999)
    func grant(_ bytes: Int) -> String {
      receive(&state, #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"bytes":\#(bytes)}}"#)
    }
    #expect(grant(3_999_999) == "credit s 0 3999999")
    #expect(!state.maySend(1))
    #expect(grant(1) == "credit s 0 1")
    #expect(state.maySend(1))
    #expect(grant(2_147_483_647) == "abort s 1 STREAM_OVERRUN")
  }

  @Test func bytesBeyondCreditAbortCall() {
    var state = ready()
    _ = state.open("s", kind: .serverStreaming)
    let text = String(repeating: "x", count: 600_000)
    let message = #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1,"message":"\#(text)"}}"#
    #expect(receive(&state, message).hasPrefix("deliver s"))
    #expect(receive(&state, message).hasPrefix("deliver s"))
    #expect(state.receiveCredit(1).bytes == StreamCredit.initial.bytes - 2 * message.utf8.count)
    #expect(receive(&state, message) == "abort s 1 STREAM_OVERRUN")
  }

  @Test func connectionCreditHoldsBackAllStreams() {
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: false)
    let greeting =
      #"{"jsonrpc":"2.0","id":"hello","result":{"version":"1","connectionCredit":1000,"#
      + #""streamCredit":{"messages":40,"bytes":2000000}}}"#
    #expect(receive(&state, greeting) == "ready")
    for name in ["a", "b"] { _ = state.open(name, kind: .clientStreaming) }
    #expect(state.sendCredit(1) == StreamCredit(messages: 40, bytes: 1000))
    state.sent(1, bytes: 1500)
    #expect(!state.maySend(1) && !state.maySend(2))
    func grant(_ params: String) -> String {
      receive(&state, #"{"jsonrpc":"2.0","method":"rpc.credit","params":{\#(params)}}"#)
    }
    #expect(grant(#""bytes":500"#) == "ignore")
    #expect(grant(#""bytes":1"#) == "credit all")
    #expect(state.maySend(1) && state.maySend(2))
    #expect(grant(#""bytes":1"#) == "ignore")
    #expect(grant(#""bytes":2147483647"#) == "close UNAVAILABLE PEER_MALFORMED")
  }

  @Test func creditAboveItsMaximumAbortsTheCall() {
    var state = ready()
    _ = state.open("s", kind: .clientStreaming)
    let rest = #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":2147483615}}"#
    #expect(receive(&state, rest) == "credit s 2147483615 0")
    #expect(state.sendCredit(1).messages == 2_147_483_647)
    let one = #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":1}}"#
    #expect(receive(&state, one) == "abort s 1 STREAM_OVERRUN")
    #expect(receive(&state, one) == "ignore")
  }

  @Test func drainBeforeHelloResponseClosesConnection() {
    var state = ClientConnectionState<String>(openCallsMax: 10, hasToken: false)
    #expect(
      receive(&state, #"{"jsonrpc":"2.0","method":"rpc.drain","params":{}}"#)
        == "close \(RPCError.Code.unavailable) DRAINING")
  }

  @Test(arguments: ["", #","params":{}"#, #","params":{"lastId":1}"#])
  func openCallsFinishAfterDrain(params: String) {
    var state = ready()
    for name in ["a", "b"] { _ = state.open(name, kind: .unary) }
    #expect(receive(&state, #"{"jsonrpc":"2.0","method":"rpc.drain"\#(params)}"#) == "drain")
    #expect(state.open("c", kind: .unary) == nil)
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":1,"result":{}}"#) == "finish a {}")
    #expect(!state.isDrained)
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":2,"error":{"code":14}}"#) == #"fail b {"code":14}"#)
    #expect(state.isDrained)
  }

  @Test func closeReportsWhichCallsWereHandedOver() {
    var state = ready()
    _ = state.open("a", kind: .unary)
    state.handedOver()
    _ = state.open("b", kind: .unary)
    let open = state.close()
    #expect(open.map(\.call) == ["a", "b"])
    #expect(open.map(\.handedOver) == [true, false])
    #expect(state.openCount == 0 && !state.hasRoom)
  }

  @Test func serverRequestsGetResponses() {
    var state = ready()
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":4,"method":"rpc.ping"}"#) == "pong number(4)")
    #expect(receive(&state, #"{"jsonrpc":"2.0","method":"rpc.ping"}"#) == "ignore")
    #expect(receive(&state, #"{"jsonrpc":"2.0","method":"rpc.future","params":{"a":1}}"#) == "ignore")
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":"q","method":"a.B/C"}"#) == #"refuse string("q")"#)
  }

  @Test(arguments: [
    "{", "[]", "[1]", "null", "\u{0}", #"{"jsonrpc":"2.0"}"#, #"{"jsonrpc":"1.0","id":1,"result":{}}"#,
    #"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, #"{"jsonrpc":"2.0","id":1,"id":1,"result":{}}"#,
    #"{"jsonrpc":"2.0","id":null,"result":{}}"#, #"{"jsonrpc":"2.0","method":"rpc.message"}"#,
    #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1,"id":1,"message":{}}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":-4}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":2147483648}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":4,"bytes":-1}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":4,"bytes":"5"}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":0,"bytes":0}}"#,
    #"{"jsonrpc":"2.0","method":"rpc.credit","params":{"messages":4}}"#,
    #"{"jsonrpc":"2.0","id":1,"result":{}} x"#,
  ])
  func malformedFramesCloseTheConnection(frame: String) {
    var state = ready()
    _ = state.open("a", kind: .bidirectional)
    #expect(receive(&state, frame) == "close UNAVAILABLE PEER_MALFORMED")
  }

  @Test func repeatedIDDoesNotEndTheOpenCall() {
    var state = ready()
    _ = state.open("a", kind: .unary)
    let error =
      #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"status":"INVALID_ARGUMENT","#
      + #""details":[{"reason":"ID_IN_USE","metadata":{"id":"1"}}]}}}"#
    #expect(receive(&state, error) == "ignore")
    #expect(state.strayCount == 1)
    #expect(receive(&state, #"{"jsonrpc":"2.0","id":1,"result":{}}"#) == "finish a {}")
  }

  @Test func errorWithNullIDClosesConnection() {
    var state = ready()
    let error = #"{"jsonrpc":"2.0","id":null,"error":{"code":8,"message":"m","data":{"status":"RESOURCE_EXHAUSTED"}}}"#
    #expect(receive(&state, error) == "close RESOURCE_EXHAUSTED RESOURCE_EXHAUSTED")
  }
}
