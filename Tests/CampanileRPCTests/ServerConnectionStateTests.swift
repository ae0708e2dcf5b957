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
