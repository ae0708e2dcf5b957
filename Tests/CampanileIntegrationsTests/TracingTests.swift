import CampanileAPI
import CampanileBase
import CampanileRPC
import Echo
import InMemoryTracing
import TestSupport
import Testing
import Tracing

@testable import CampanileIntegrations

/// Binds a tracer to the tasks of handlers, in place of one that is installed for the process.
struct Bound: ServerInterceptor {
  let tracer: any Tracing.Tracer

  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    try await withTracer(tracer) { try await next(context) }
  }
}

/// Echoes within a span of its own.
private struct Working: RPCService {
  func register(in registry: inout MethodRegistry) {
    registry.unary(EchoServiceMethods.echo) { (request: EchoRequest, _: CallContext) async throws -> EchoResponse in
      withSpan("work") { _ in EchoResponse(payload: request.payload) }
    }
  }
}

/// The spans of calls over sockets.
@Suite(.timeLimit(.minutes(1))) struct TracingTests {
  private let tracer = InMemoryTracer()

  /// Calls `body` with the client of a traced server.
  ///
  /// - Returns: The spans in the order of their ends.
  private func spans(
    of service: any RPCService, _ body: (RPCClient) async throws -> Void
  ) async throws -> [FinishedInMemorySpan] {
    let server = RPCServer(
      ServerConfiguration(logger: quiet), services: [service], interceptors: [Bound(tracer: tracer), .tracing])
    try await withClient(of: server) { client in try await withTracer(tracer) { try await body(client) } }
    return tracer.finishedSpans
  }

  @Test func spansOfHandlersAreChildrenOfCallersSpans() async throws {
    let spans = try await spans(of: Working()) { client in
      let echo = EchoServiceClient(client.intercepted(by: [.tracing]))
      _ = try await withSpan("caller") { _ in try await echo.echo(EchoRequest()) }
    }
    let path = "campanile.rpc.v1.EchoService/Echo"
    #expect(spans.map(\.operationName) == ["work", path, path, "caller"])
    #expect(spans.map(\.kind) == [.internal, .server, .client, .internal])
    #expect(spans.map(\.parentSpanID) == spans.dropFirst().map(\.spanID) + [nil])
    #expect(Set(spans.map(\.traceID)).count == 1)
    #expect(spans.allSatisfy { $0.status == nil })
    #expect(spans[1].attributes.get("rpc.response.status_code") == .string("OK"))
  }

  @Test func callWithoutContextBeginsTrace() async throws {
    let spans = try await spans(of: Working()) { client in
      _ = try await EchoServiceClient(client).echo(EchoRequest())
    }
    #expect(spans.map(\.kind) == [.internal, .server])
    #expect(spans.last?.parentSpanID == nil)
  }

  @Test(arguments: [(3, false), (13, true)]) func errorsOfCallersAreNoFailuresOfServers(
    code: Int32, isFailure: Bool
  ) async throws {
    let spans = try await spans(of: EchoService()) { client in
      let echo = EchoServiceClient(client.intercepted(by: [.tracing]))
      _ = try? await echo.fail(FailRequest(code: code))
    }
    #expect(spans.map { $0.status?.code == .error } == [isFailure, true])
    #expect(spans.map(\.errors.count) == [isFailure ? 1 : 0, 1])
  }

  @Test func spanOfStreamEndsWithItsLastResponse() async throws {
    let spans = try await spans(of: EchoService()) { client in
      let echo = EchoServiceClient(client.intercepted(by: [.tracing]))
      for try await _ in echo.expand(ExpandRequest(count: 3)) { #expect(tracer.finishedSpans.count < 2) }
    }
    #expect(spans.map(\.kind) == [.server, .client])
  }

  @Test func keysOfTracersAreKeysOfMetadata() {
    let propagation = MetadataPropagation()
    var metadata: Metadata = ["tracestate": "a=1", "tracestate": "b=2"]
    propagation.inject("1", forKey: "X-B3-Sampled", into: &metadata)
    #expect(metadata["x-b3-sampled"] == "1" && metadata.fault() == nil)
    #expect(propagation.extract(key: "tracestate", from: metadata) == "a=1,b=2")
    #expect(propagation.extract(key: "traceparent", from: metadata) == nil)
  }
}
