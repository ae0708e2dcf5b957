import CampanileAPI
import CampanileBase
import CampanileIntegrations
import CampanileRPC
import Echo
import MetricsTestKit
import TestSupport
import Testing

/// The timers of a server and of its client.
@Suite(.timeLimit(.minutes(1))) struct MetricsTests {
  private static let echo = "campanile.rpc.v1.EchoService"
  private let metrics = TestMetrics()

  /// Returns the durations in nanoseconds that one side has recorded.
  private func durations(_ side: String, _ method: String, _ code: String) throws -> [Int64] {
    try metrics.expectTimer(
      "rpc.\(side).call.duration", [("rpc.method", method), ("rpc.response.status_code", code)]
    ).values
  }

  private func serve(_ body: (any RPCCaller) async throws -> Void) async throws {
    let server = RPCServer(
      ServerConfiguration(logger: quiet), services: [EchoService()], observer: MetricsObserver(factory: metrics))
    try await withClient(of: server) { client in
      try await body(client.intercepted(by: [MetricsInterceptor(factory: metrics)]))
    }
  }

  @Test func callsAreTimedByMethodAndCode() async throws {
    try await serve { caller in
      let echo = EchoServiceClient(caller)
      for _ in 1...2 { _ = try await echo.echo(EchoRequest(delayMs: 20)) }
      for code: Int32 in [5, 5, 13] { _ = try? await echo.fail(FailRequest(code: code)) }
      for try await _ in echo.expand(ExpandRequest(count: 3)) {}
    }
    for side in ["client", "server"] {
      let served = try durations(side, "\(Self.echo)/Echo", "OK")
      // A unit other than nanoseconds would be below.
      #expect(served.count == 2 && served.allSatisfy { $0 > 1_000_000 })
      #expect(try durations(side, "\(Self.echo)/Fail", "NOT_FOUND").count == 2)
      #expect(try durations(side, "\(Self.echo)/Fail", "INTERNAL").count == 1)
      #expect(try durations(side, "\(Self.echo)/Expand", "OK").count == 1)
    }
    #expect(metrics.timers.count == 8)
  }

  @Test func unknownMethodsShareOneTimer() async throws {
    try await serve { caller in
      for name in ["One", "Two"] {
        let method = MethodDescriptor(
          path: "test.Unknown/\(name)", kind: .unary, idempotency: .unknown, requestType: "", responseType: "")
        _ = try? await caller.unary(method, EchoRequest(), options: CallOptions()) as EchoResponse
      }
    }
    #expect(try durations("server", "_OTHER", "UNIMPLEMENTED").count == 2)
    #expect(try durations("client", "test.Unknown/One", "UNIMPLEMENTED").count == 1)
  }
}
