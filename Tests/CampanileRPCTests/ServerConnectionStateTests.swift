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
}
