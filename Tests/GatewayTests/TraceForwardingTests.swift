import CampanileAPI
import CampanileBase
import CampanileRPC
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// The gateway's spans, and the trace contexts that it forwards.
@Suite(.timeLimit(.minutes(1))) struct TraceForwardingTests {
  private final class Spans: Sendable {
    private let spans = Mutex<[FinishedSpan]>([])
    var all: [FinishedSpan] { spans.withLock { $0 } }

    func observation(ratio: Double) -> CallObservation {
      let tracer = Tracer(ratio: ratio, nowNs: { 1 }, onFinish: { span in self.spans.withLock { $0.append(span) } })
      return CallObservation(tracer: tracer, slowCall: .zero, logger: Logger(label: "test"))
    }
  }

  private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test func backendContinuesTheTrace() async throws {
    let spans = Spans()
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address], observation: spans.observation(ratio: 0))
    let key = try await harness.key("user/grace")
    let echo = EchoServiceClient(try harness.client())
    let options = CallOptions(metadata: [
      "authorization": "Bearer \(key.secret)", "traceparent": Self.parent, "tracestate": "a=b",
    ])
    _ = try await echo.echo(EchoRequest("a"), options: options)
    let seen = try #require(backend.seen.last)
    let call = try await Self.only(spans)
    let carried = try #require(TraceContext(seen.metadata))
    #expect(seen.metadata.values("traceparent").count == 1 && carried.state == "a=b")
    #expect(carried.spanID == call.spanID && carried.traceID == "0af7651916cd43dd8448eb211c80319c")
    #expect(call.parentSpanID == 0xb7ad_6b71_6920_3331)
    #expect(call.name == "campanile.rpc.v1.EchoService/Echo" && call.kind == .server)
    #expect(call.attributes.contains(.init(key: "enduser.id", value: "user/grace")))
    let requestID = try #require(seen.metadata["campanile-request-id"])
    #expect(call.attributes.contains(.init(key: "campanile.request_id", value: requestID)))
    #expect(call.attributes.contains(.init(key: "campanile.backend", value: "echo")))
    let address = "\(backend.address.host):\(backend.address.port)"
    #expect(call.attributes.contains(.init(key: "server.address", value: address)))
    #expect(!call.attributes.contains { $0.key == "campanile.attempts" })
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func ratioStartsTracesAndUnsampledContextIsUnchanged() async throws {
    let spans = Spans()
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address], observation: spans.observation(ratio: 1))
    let echo = EchoServiceClient(try harness.client(token: internalToken))
    _ = try await echo.echo(EchoRequest("a"))
    let call = try await Self.only(spans)
    #expect(call.parentSpanID == 0)
    #expect(backend.seen.last.flatMap { TraceContext($0.metadata) }?.spanID == call.spanID)
    let unsampled = String(Self.parent.dropLast()) + "0"
    _ = try await echo.echo(EchoRequest("b"), options: CallOptions(metadata: ["traceparent": unsampled]))
    #expect(backend.seen.last?.metadata["traceparent"] == unsampled)
    #expect(spans.all.count == 1)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func undescribedMethodsAreTraced() async throws {
    let spans = Spans()
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address], observation: spans.observation(ratio: 1))
    let unknown = try await RawProbe.call(
      try harness.client(token: internalToken), "campanile.rpc.v1.EchoService/New", "{}")
    #expect(unknown.error?.code == .unimplemented)
    let call = try await Self.only(spans)
    #expect(call.name == "_OTHER")
    #expect(call.attributes.contains(.init(key: "rpc.method", value: "campanile.rpc.v1.EchoService/New")))
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func secondAttemptIsPartOfTheSameSpan() async throws {
    let spans = Spans()
    let refusal = #"{"code":14,"message":"no","data":{"status":"UNAVAILABLE","processed":false}}"#
    let refusing = try await RogueBackend { id, _ in
      .init(frames: [#"{"jsonrpc":"2.0","id":\#(id),"error":\#(refusal)}"#])
    }
    let backend = try await Backend()
    let harness = try await Harness(
      backends: [refusing.address, backend.address], observation: spans.observation(ratio: 1))
    let echo = EchoServiceClient(try harness.client(token: internalToken))
    try await eventually("the backend serves") { harness.gateway.missingBackends.isEmpty }
    try await eventually("a call was sent to both addresses") {
      _ = try await echo.echo(EchoRequest("a"))
      return spans.all.contains { $0.attributes.contains(.init(key: "campanile.attempts", value: "2")) }
    }
    let twice = try #require(spans.all.first { $0.attributes.contains { $0.key == "campanile.attempts" } })
    let address = "\(backend.address.host):\(backend.address.port)"
    #expect(twice.attributes.contains(.init(key: "server.address", value: address)) && twice.failure == nil)
    await harness.stop()
    await refusing.kill()
    await backend.server.shutdown()
  }

  @Test func aRefusedCallHasOneSpanAndIsCounted() async throws {
    let spans = Spans()
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address], observation: spans.observation(ratio: 1))
    let echo = EchoServiceClient(try harness.client())
    await #expect(throws: RPCError.self) { _ = try await echo.echo(EchoRequest("a")) }
    let span = try #require(spans.all.first)
    #expect(spans.all.count == 1 && span.failure == nil)
    #expect(span.attributes.contains(.init(key: "rpc.response.status_code", value: "UNAUTHENTICATED")))
    #expect(harness.gateway.refusedCalls.values.reduce(0, +) == 1)
    await harness.gateway.refreshBackendGauges()
    #expect(harness.gateway.backendGauges.map(\.name) == ["echo"])
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func numberOfRefusalReasonsIsLimited() {
    let refusals = RefusalCounts()
    for number in 0..<200 { refusals.count(RPCError(.internalError, "x", reason: "R\(number)")) }
    #expect(refusals.all.count == RefusalCounts.reasonsMax + 1)
    #expect(refusals.all[RefusalCounts.other] == 200 - RefusalCounts.reasonsMax)
  }

  /// Waits for the only span and returns it.
  private static func only(_ finished: Spans) async throws -> FinishedSpan {
    try await eventually("the span has ended") { !finished.all.isEmpty }
    #expect(finished.all.count == 1)
    return try #require(finished.all.first)
  }
}
