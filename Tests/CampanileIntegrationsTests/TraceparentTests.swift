import CampanileAPI
import CampanileIntegrations
import CampanileRPC
import Echo
import InMemoryTracing
import TestSupport
import Testing
import Tracing

/// A tracer that propagates W3C Trace Context, as those of OpenTelemetry do.
private struct W3CTracer: Tracing.Tracer {
  let spans = InMemoryTracer(idGenerator: .init(nextTraceID: { Self.hex(32) }, nextSpanID: { Self.hex(16) }))

  private static func hex(_ digits: Int) -> String {
    (0..<digits).map { _ in String(Int.random(in: 1...15), radix: 16) }.joined()
  }

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> InMemorySpan {
    spans.startSpan(
      operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line)
  }

  func forceFlush() {}

  func inject<Carrier, Inject: Injector>(
    _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let span = context.inMemorySpanContext else { return }
    injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
  }

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-").map(String.init) ?? []
    guard parts.count == 4 else { return }
    context.inMemorySpanContext = InMemorySpanContext(traceID: parts[1], spanID: parts[2], parentSpanID: nil)
  }
}

/// Runs each handler of Echo within a span of its own, which has the received `traceparent`.
private struct Working: EchoServiceProtocol {
  private let service = EchoService()

  private func work<Response: Sendable>(_ context: CallContext, _ body: () async throws -> Response) async throws
    -> Response
  {
    try await withSpan("work") { span in
      span.attributes["traceparent"] = context.metadata["traceparent"] ?? ""
      return try await body()
    }
  }

  func echo(_ request: EchoRequest, context: CallContext) async throws -> EchoResponse {
    try await work(context) { try await service.echo(request, context: context) }
  }

  func expand(
    _ request: ExpandRequest, context: CallContext, responses: ResponseSink<ExpandResponse>
  ) async throws {
    try await work(context) { try await service.expand(request, context: context, responses: responses) }
  }

  func collect(_ requests: RequestStream<CollectRequest>, context: CallContext) async throws -> CollectResponse {
    try await work(context) { try await service.collect(requests, context: context) }
  }

  func chat(
    _ requests: RequestStream<ChatRequest>, context: CallContext, responses: ResponseSink<ChatResponse>
  ) async throws {
    try await work(context) { try await service.chat(requests, context: context, responses: responses) }
  }

  func fail(_ request: FailRequest, context: CallContext) async throws -> FailResponse {
    try await service.fail(request, context: context)
  }
}

/// The W3C Trace Context of calls over sockets, for each kind of call.
@Suite(.timeLimit(.minutes(1))) struct TraceparentTests {
  private let tracer = W3CTracer()

  /// Calls `body` with the client of a traced server, and returns all spans.
  private func spans(_ body: (RPCClient) async throws -> Void) async throws -> [FinishedInMemorySpan] {
    let server = RPCServer(
      ServerConfiguration(logger: quiet), services: [Working()], interceptors: [Bound(tracer: tracer), .tracing])
    try await withClient(of: server) { client in try await withTracer(tracer) { try await body(client) } }
    return tracer.spans.finishedSpans
  }

  private func call(_ kind: CallKind, _ caller: any RPCCaller, _ options: CallOptions = .init()) async throws {
    let echo = EchoServiceClient(caller)
    switch kind {
    case .unary: _ = try await echo.echo(EchoRequest(), options: options)
    case .serverStreaming: for try await _ in echo.expand(ExpandRequest(count: 3), options: options) {}
    case .clientStreaming: _ = try await echo.collect(options: options) { try await $0.send(CollectRequest()) }
    case .bidirectional:
      let responses = echo.chat(options: options) { try await $0.send(ChatRequest()) }
      for try await _ in responses {}
    }
  }

  @Test(arguments: CallKind.allCases) func spansOfHandlersAreInCallersTrace(kind: CallKind) async throws {
    let spans = try await spans { client in
      try await withSpan("caller") { _ in try await call(kind, client.intercepted(by: [.tracing])) }
    }
    #expect(spans.count == 4)
    let caller = try #require(spans.first { $0.operationName == "caller" })
    let client = try #require(spans.first { $0.kind == .client })
    let server = try #require(spans.first { $0.kind == .server })
    let work = try #require(spans.first { $0.operationName == "work" })
    #expect(client.parentSpanID == caller.spanID && server.parentSpanID == client.spanID)
    #expect(work.parentSpanID == server.spanID && Set(spans.map(\.traceID)) == [caller.traceID])
    #expect(work.attributes.get("traceparent") == .string("00-\(caller.traceID)-\(client.spanID)-01"))
  }

  @Test(arguments: CallKind.allCases) func metadataOfCallerNamesParentOfServersSpan(kind: CallKind) async throws {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let spans = try await spans { client in
      try await call(kind, client, CallOptions(metadata: ["traceparent": parent]))
    }
    let server = try #require(spans.first { $0.kind == .server })
    #expect(server.parentSpanID == "b7ad6b7169203331" && server.traceID == "0af7651916cd43dd8448eb211c80319c")
    let work = try #require(spans.first { $0.operationName == "work" })
    #expect(work.parentSpanID == server.spanID && work.attributes.get("traceparent") == .string(parent))
  }
}
