import CampanileBase
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

/// Spans in the order in which they ended.
private final class Finished: Sendable {
  private let spans = Mutex<[FinishedSpan]>([])
  var all: [FinishedSpan] { spans.withLock { $0 } }

  func tracer(ratio: Double) -> Tracer {
    Tracer(ratio: ratio, nowNs: { 1_000 }, seed: 1, onFinish: { span in self.spans.withLock { $0.append(span) } })
  }
}

extension Tracer {
  /// Begins the span of an untrusted call.
  fileprivate func serverSpan(_ name: String, _ metadata: Metadata, mayBegin: Bool) -> Span? {
    var metadata = metadata
    return serverSpan(name, &metadata, mayBegin: mayBegin, draw: .random(in: .min ... .max))
  }
}

private let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

@Suite struct TraceContextTests {
  @Test func readsAndWritesW3CExamples() throws {
    let context = try #require(TraceContext(parent: sampled, state: ["congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7"]))
    #expect(context.traceIDHigh == 0x0af7_6519_16cd_43dd && context.traceIDLow == 0x8448_eb21_1c80_319c)
    #expect(context.spanID == 0xb7ad_6b71_6920_3331 && context.isSampled)
    #expect(context.parent == sampled && context.traceID == "0af7651916cd43dd8448eb211c80319c")
    #expect(context.state == "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7")
    #expect(TraceContext(text: context.text) == context)
    #expect(TraceContext(text: sampled)?.text == sampled)
    #expect(TraceContext(parent: String(sampled.dropLast()) + "0")?.isSampled == false)
    // Unknown flags, and a later version with additional fields.
    #expect(TraceContext(parent: String(sampled.dropLast(2)) + "ff")?.isSampled == true)
    #expect(TraceContext(parent: "cc" + sampled.dropFirst(2) + "-what-follows")?.parent == sampled)
  }

  @Test(arguments: [
    "", "00", "00-abc", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", String(sampled.dropLast()),
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", sampled + "-more", sampled + "0",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
    "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "cc" + sampled.dropFirst(2) + ".more",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
  ])
  func rejectsInvalidTraceparents(text: String) { #expect(TraceContext(parent: text) == nil) }

  @Test func dropsInvalidState() {
    #expect(TraceContext(parent: sampled, state: [String(repeating: "a", count: 513)])?.state == "")
    #expect(TraceContext(parent: sampled, state: [String(repeating: "a", count: 512)])?.state.count == 512)
    #expect(TraceContext(parent: sampled, state: ["a=b\n"])?.state == "")
    #expect(TraceContext(parent: sampled, state: ["", "a=b", ""])?.state == "a=b")
  }
}

@Suite struct TracerTests {
  @Test func callersDecisionPrecedesRatio() {
    let never = Finished().tracer(ratio: 0)
    let always = Finished().tracer(ratio: 1)
    #expect(never.serverSpan("m", [:], mayBegin: true) == nil)
    #expect(never.serverSpan("m", ["traceparent": sampled], mayBegin: false)?.context.traceID.hasPrefix("0af7") == true)
    #expect(always.serverSpan("m", [:], mayBegin: true) != nil)
    #expect(always.serverSpan("m", [:], mayBegin: false) == nil)
    let unsampled = String(sampled.dropLast()) + "0"
    #expect(always.serverSpan("m", ["traceparent": unsampled], mayBegin: true) == nil)
    // An invalid context is treated as absent.
    #expect(always.serverSpan("m", ["traceparent": "00-abc"], mayBegin: true)?.context.isSampled == true)
  }

  @Test func ratioIsRespected() {
    let tracer = Finished().tracer(ratio: 0.25)
    let count = (0..<10_000).filter { _ in tracer.serverSpan("m", [:], mayBegin: true) != nil }.count
    #expect((2_300...2_700).contains(count))
    var none = Metadata()
    #expect(tracer.serverSpan("m", &none, mayBegin: true, draw: .max / 4 - 1) != nil)
    #expect(tracer.serverSpan("m", &none, mayBegin: true, draw: .max / 4 + 1) == nil)
  }

  @Test func tracesPerSecondAreLimited() throws {
    let nowNs = Mutex<UInt64>(1_000_000_000)
    let clock: @Sendable () -> UInt64 = { nowNs.withLock { $0 } }
    let tracer = Tracer(ratio: 1, tracesPerSecondMax: 2, nowNs: clock, seed: 1, onFinish: { _ in })
    var asked: Metadata = ["traceparent": sampled, "tracestate": "a=b", "x": "y"]
    #expect(tracer.serverSpan("m", [:], mayBegin: true) != nil)
    #expect(tracer.serverSpan("m", &asked, mayBegin: true, draw: 0) != nil && asked.entries.count == 3)
    #expect(tracer.serverSpan("m", [:], mayBegin: true) == nil)
    // Downstream services do not record it either; traces of trusted connections continue.
    #expect(tracer.serverSpan("m", &asked, mayBegin: true, draw: 0) == nil && asked == ["x": "y"])
    asked = ["traceparent": sampled]
    #expect(tracer.serverSpan("m", &asked, mayBegin: false, isTrusted: true, draw: 0) != nil)
    #expect(tracer.limitedTraces == 2)
    nowNs.withLock { $0 = 2_000_000_000 }
    #expect(tracer.serverSpan("m", [:], mayBegin: true) != nil)
  }

  @Test func spansKnowTheirParents() throws {
    let finished = Finished()
    let tracer = finished.tracer(ratio: 1)
    let first = tracer.span("first", .server, in: TraceContext(parent: sampled, state: ["a=b"]))
    let second = tracer.span("second", .client, in: first.context)
    second.set("k", "v")
    second.end(failure: "broken")
    second.end()
    second.set("late", "v")
    first.end()
    let (child, parent) = (try #require(finished.all.first), try #require(finished.all.last))
    #expect(finished.all.count == 2)
    #expect(child.parentSpanID == parent.spanID && parent.parentSpanID == 0xb7ad_6b71_6920_3331)
    #expect(child.traceIDHigh == parent.traceIDHigh && child.traceIDLow == parent.traceIDLow)
    #expect(child.failure == "broken" && parent.failure == nil)
    #expect(child.attributes == [.init(key: "k", value: "v")])
    #expect(second.context.state == "a=b")
    #expect(tracer.span("x", .consumer, after: nil) == nil && tracer.span("x", .consumer, after: "x") == nil)
    #expect(tracer.span("x", .consumer, after: String(sampled.dropLast()) + "0") == nil)
  }

  @Test func attributesAreBounded() throws {
    let finished = Finished()
    let span = finished.tracer(ratio: 1).span("s", .internal, in: nil)
    for number in 0..<100 { span.set("k\(number)", String(repeating: "x", count: 5_000)) }
    span.end()
    let record = try #require(finished.all.first)
    #expect(record.attributes.count == Span.attributesMax)
    #expect(record.attributes.allSatisfy { $0.value.count == Span.valueCharactersMax })
  }

  @Test func linesPerSecondAreLimited() {
    var budget = SecondBudget(perSecondMax: 2)
    #expect(
      [budget.take(second: 1), budget.take(second: 1), budget.take(second: 1), budget.take(second: 1)] == [
        0, 0, nil, nil,
      ])
    #expect([budget.take(second: 2), budget.take(second: 2)] == [2, 0])
  }
}

/// A server whose calls are traced and logged, over a socket.
@Suite(.timeLimit(.minutes(1))) struct CallObservationTests {
  private static let change = MethodDescriptor(
    path: "test.Notes/Change", kind: .unary, idempotency: .unknown, requestType: "test.Note", responseType: "test.Note")
  private static let read = MethodDescriptor(
    path: "test.Notes/Read", kind: .unary, idempotency: .noSideEffects, requestType: "test.Note",
    responseType: "test.Note")
  private static let list = MethodDescriptor(
    path: "test.Notes/List", kind: .serverStreaming, idempotency: .noSideEffects, requestType: "test.Note",
    responseType: "test.Note")

  private func withServer(
    _ tracer: Tracer?, slowCall: Duration, _ lines: LogLines, token: String? = nil,
    _ handler: @escaping @Sendable (Note, CallContext) async throws -> Note, _ body: (RPCClient) async throws -> Void
  ) async throws {
    var registry = MethodRegistry()
    registry.unary(Self.change, handler)
    registry.unary(Self.read, handler)
    registry.serverStreaming(Self.list) { (note: Note, context: CallContext, responses: ResponseSink<Note>) in
      for _ in 1...2 { try await responses.send(handler(note, context)) }
    }
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = RPCServer(
      ServerConfiguration(logger: quiet),
      dispatcher: TypedDispatcher(
        registry, observation: CallObservation(tracer: tracer, slowCall: slowCall, logger: lines.logger),
        logger: lines.logger), authenticator: InternalTokenAuthenticator(token: "secret"),
      group: MultiThreadedEventLoopGroup.singleton)
    let address = try await server.start()
    let client = try RPCClient(
      ClientConfiguration(host: "127.0.0.1", port: address.port ?? 0, token: token),
      group: MultiThreadedEventLoopGroup.singleton)
    do { try await body(client) } catch {
      await client.close()
      await server.shutdown()
      throw error
    }
    await client.close()
    await server.shutdown()
  }

  @Test func handlerSeesAndPropagatesItsTrace() async throws {
    let finished = Finished()
    let seen = Mutex<[CallScope?]>([])
    try await withServer(finished.tracer(ratio: 0), slowCall: .zero, LogLines()) { note, context in
      await Task.yield()
      seen.withLock { $0.append(CallScope.current) }
      let carried = CallScope.outgoing(["k": "v"])
      return Note(carried["traceparent"] ?? "none")
    } _: { client in
      let traced: Note = try await client.unary(
        Self.change, Note("a"), options: CallOptions(metadata: ["traceparent": sampled]))
      let plain: Note = try await client.unary(Self.change, Note("a"))
      #expect(plain.text == "none")
      let span = try #require(finished.all.first)
      #expect(finished.all.count == 1 && span.name == "test.Notes/Change" && span.kind == .server)
      #expect(span.parentSpanID == 0xb7ad_6b71_6920_3331 && span.failure == nil)
      #expect(span.attributes.contains(.init(key: "rpc.response.status_code", value: "OK")))
      #expect(TraceContext(parent: traced.text)?.spanID == span.spanID)
    }
    #expect(seen.withLock { $0.map { $0?.span != nil } } == [true, false])
  }

  @Test func streamsHandlerIsChildOfCallersSpan() async throws {
    let finished = Finished()
    try await withServer(finished.tracer(ratio: 0), slowCall: .zero, LogLines()) { _, _ in
      await Task.yield()
      return Note(CallScope.outgoing([:])["traceparent"] ?? "none")
    } _: { client in
      let notes: ResponseStream<Note> = client.serverStreaming(
        Self.list, Note("a"), options: CallOptions(metadata: ["traceparent": sampled]))
      var seen: [TraceContext?] = []
      for try await note in notes { seen.append(TraceContext(parent: note.text)) }
      let span = try #require(finished.all.first)
      #expect(finished.all.count == 1 && span.name == "test.Notes/List" && span.kind == .server)
      #expect(span.parentSpanID == 0xb7ad_6b71_6920_3331 && span.failure == nil)
      #expect(seen.map { $0?.spanID } == [span.spanID, span.spanID])
      #expect(seen.allSatisfy { $0?.traceID == "0af7651916cd43dd8448eb211c80319c" })
    }
  }

  @Test func clientPropagatesTraceOfTask() async throws {
    let span = Finished().tracer(ratio: 1).span("work", .internal, in: nil)
    try await withServer(nil, slowCall: .zero, LogLines()) { _, context in
      Note(context.metadata["traceparent"] ?? "none")
    } _: { client in
      let reply: Note = try await CallScope.$current.withValue(CallScope(span: span)) {
        try await client.unary(Self.change, Note("a"))
      }
      #expect(reply.text == span.context.parent)
    }
  }

  @Test func slowCallsAreLoggedWithTheirPartsAndNames() async throws {
    let lines = LogLines()
    try await withServer(nil, slowCall: .milliseconds(20), lines, token: "secret") { note, _ in
      if note.text == "slow" {
        CallScope.current?.addCommit(ns: 7_000_000)
        try await Task.sleep(for: .milliseconds(30))
      }
      if note.text == "late" { try await Task.sleep(for: .seconds(600)) }
      return note
    } _: { client in
      var options = CallOptions(metadata: [
        Principal.metadataKey: "user/ada", Metadata.requestIDKey: "0123456789abcdef-0123456789abcdef",
      ])
      let _: Note = try await client.unary(Self.change, Note("slow"), options: options)
      options.timeoutMs = 1_000
      await #expect(throws: RPCError.self) {
        let _: Note = try await client.unary(Self.read, Note("late"), options: options)
      }
    }
    let slow = lines.all.filter { $0.message == "a slow call" }
    let change = try #require(slow.first { $0.metadata["method"] == "test.Notes/Change" })
    #expect(change.metadata["requestId"] == "0123456789abcdef-0123456789abcdef")
    #expect(change.metadata["principal"] == "user/ada" && change.metadata["code"] == "OK")
    #expect(change.metadata["commitMs"].map { "\($0)" } == "7.0")
    for key in ["durationMs", "queueMs", "decodeMs", "handlerMs", "encodeMs"] { #expect(change.metadata[key] != nil) }
    let late = try #require(slow.first { $0.metadata["method"] == "test.Notes/Read" })
    #expect(late.metadata["code"] != "OK" && late.metadata["commitMs"] == nil)
  }

  @Test func failedHandlersLogLineIdentifiesCall() async throws {
    struct Broken: Error {}
    let lines = LogLines()
    try await withServer(nil, slowCall: .zero, lines, token: "secret") { _, _ in
      throw Broken()
    } _: { client in
      await #expect(throws: RPCError.self) {
        let _: Note = try await client.unary(
          Self.change, Note("a"), options: CallOptions(metadata: [Principal.metadataKey: "user/ada"]))
      }
    }
    let line = try #require(lines.all.first { $0.message == "a handler failed" })
    #expect(line.metadata["principal"] == "user/ada")
  }
}
