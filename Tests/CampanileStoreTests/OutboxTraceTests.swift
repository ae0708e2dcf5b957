import CampanileBase
import Synchronization
import Testing

@testable import CampanileStore

/// Tests of traces through the outbox.
@Suite struct OutboxTraceTests {
  private final class Spans: Sendable {
    private let spans = Mutex<[FinishedSpan]>([])
    var all: [FinishedSpan] { spans.withLock { $0 } }
    var tracer: Tracer {
      Tracer(ratio: 1, nowNs: { 1 }, onFinish: { span in self.spans.withLock { $0.append(span) } })
    }
  }

  @Test func relayContinuesTraceOfWrite() async throws {
    try await withStore { store, _ in
      let spans = Spans()
      let tracer = spans.tracer
      let call = tracer.span("call", .server, in: nil)
      let scope = CallScope(span: call)
      try await CallScope.$current.withValue(scope) {
        _ = try await store.write { try $0.enqueue(topic: "t", key: "traced", payload: [1], nowMs: 1) }
      }
      #expect(scope.commitNs > 0)
      _ = try await store.write { try $0.enqueue(topic: "t", key: "plain", payload: [2], nowMs: 1) }
      let seen = Mutex<[String: TraceContext?]>([:])
      let relay = OutboxRelay(store: store, environment: RelayEnvironment(nowMs: { 2 }, tracer: tracer)) { message in
        seen.withLock { $0[message.key] = CallScope.trace }
        return message.key == "plain" ? .retry(reason: "later") : .delivered
      }
      _ = try await relay.deliverDue()
      let span = try #require(spans.all.first)
      #expect(spans.all.count == 1 && span.name == "outbox t" && span.kind == .consumer && span.failure == nil)
      #expect(span.parentSpanID == call.context.spanID && span.traceIDLow == call.context.traceIDLow)
      let contexts = seen.withLock { $0 }
      #expect(contexts["traced"]??.spanID == span.spanID && contexts["plain"] == .some(nil))
    }
  }

  @Test func failedDeliveryEndsSpanAndKeepsTrace() async throws {
    struct Away: Error {}
    try await withStore { store, _ in
      let spans = Spans()
      let parent = TraceContext(traceIDHigh: 1, traceIDLow: 2, spanID: 3, isSampled: true, state: "a=b")
      _ = try await store.write { try $0.enqueue(topic: "t", key: "k", payload: [], nowMs: 1, trace: parent) }
      let now = Mutex<Int64>(2)
      let environment = RelayEnvironment(nowMs: { now.withLock { $0 } }, tracer: spans.tracer)
      let relay = OutboxRelay(store: store, environment: environment) { message in
        #expect(message.trace == parent.text && CallScope.trace?.state == "a=b")
        throw Away()
      }
      _ = try await relay.deliverDue()
      now.withLock { $0 = 1_000_000 }
      _ = try await relay.deliverDue()
      #expect(spans.all.map(\.parentSpanID) == [3, 3] && spans.all.allSatisfy { $0.failure == "Away()" })
      #expect(spans.all.last?.attributes.contains(.init(key: "campanile.attempt", value: "2")) == true)
    }
  }

  @Test func relayDeliversWithoutTracer() async throws {
    try await withStore { store, _ in
      let parent = TraceContext(traceIDHigh: 1, traceIDLow: 2, spanID: 3, isSampled: true)
      _ = try await store.write { try $0.enqueueLatest(topic: "t", key: "k", payload: [], nowMs: 1, trace: parent) }
      let relay = OutboxRelay(store: store, environment: RelayEnvironment(nowMs: { 2 })) { _ in .delivered }
      #expect(try await relay.deliverDue().delivered == 1)
    }
  }
}
