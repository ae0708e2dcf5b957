import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC

/// The number of executions per payload. Each call has a unique payload.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class EchoLog: @unchecked Sendable {
  let world: World
  private(set) var runs: [String: Int] = [:]

  init(_ world: World) { self.world = world }

  func ran(_ payload: String) { runs[payload, default: 0] += 1 }
}

/// The echo service with random delays, refusals and failures.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class LoggingEcho: RPCService, @unchecked Sendable {
  private let echoLog: EchoLog
  private let node: Node
  private var chance: SplitMix64

  init(_ echoLog: EchoLog, _ node: Node) {
    (self.echoLog, self.node) = (echoLog, node)
    chance = SplitMix64(seed: node.numbers("handlers")())
  }

  func register(in registry: inout MethodRegistry) {
    registry.unary(EchoServiceMethods.echo) { [self] (request: EchoRequest, _: CallContext) -> EchoResponse in
      try await work(request.payload)
      return EchoResponse.with { $0.payload = request.payload }
    }
    registry.unary(EchoServiceMethods.fail) { [self] (request: FailRequest, _: CallContext) -> FailResponse in
      try await work(request.key)
      return FailResponse.with { $0.executionCount = 1 }
    }
    registry.bidirectional(EchoServiceMethods.chat) {
      (requests: RequestStream<ChatRequest>, _: CallContext, sink: ResponseSink<ChatResponse>) in
      var response = ChatResponse()
      for try await request in requests {
        response.payload = request.payload
        try await sink.send(response)
        response.index &+= 1
      }
    }
  }

  private func work(_ payload: String) async throws {
    if chance.oneIn(7) {
      throw RPCError(
        chance.oneIn(2) ? .unavailable : .resourceExhausted, "busy", reason: "BUSY", retryAfterMs: 5, processed: false)
    }
    echoLog.ran(payload)
    if !chance.oneIn(3) { await echoLog.world.sleep(ms: Int64(chance.below(90))) }
    if chance.oneIn(10) { throw RPCError(.unavailable, "broken", reason: "BROKEN") }
  }
}
