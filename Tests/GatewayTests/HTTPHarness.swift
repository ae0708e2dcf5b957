import CampanileAPI
import CampanileRPC
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// A gateway with an HTTP listener, and an echo service with REST rules behind it.
final class HTTPHarness: Sendable {
  let harness: Harness
  let backend: Backend
  let frontend: HTTPFrontend
  let port: Int
  let secret: String
  private let listener: any Channel

  /// The echo service's methods with HTTP rules, which its proto does not have.
  static let methods: [MethodDescriptor] = EchoServiceMethods.all.map { method in
    var method = method
    switch method.name {
    case "Echo":
      method.httpRules = [
        HTTPRule(verb: "GET", template: "/v1/echo/{payload}", body: ""),
        HTTPRule(verb: "POST", template: "/v1/echo/{payload}:again", body: "*"),
        HTTPRule(verb: "PUT", template: "/v1/tree/{payload=**}", body: "delay_ms"),
        HTTPRule(verb: "POST", template: "/v1/echo", body: "*"),
      ]
    case "Expand": method.httpRules = [HTTPRule(verb: "GET", template: "/v1/echo:expand", body: "")]
    case "Fail": method.httpRules = [HTTPRule(verb: "POST", template: "/v1/fail", body: "*")]
    default: break
    }
    return method
  }

  init(
    gateway: (inout GatewayConfiguration) -> Void = { _ in }, configure: (inout HTTPConfiguration) -> Void = { _ in },
    dialects configureDialects: (inout DialectConfiguration) -> Void = { _ in }
  ) async throws {
    backend = try await Backend()
    harness = try await Harness(backends: [backend.address]) {
      $0.methods = Self.methods
      gateway(&$0)
    }
    secret = try await harness.key().secret
    var configuration = HTTPConfiguration()
    configure(&configuration)
    var dialects = DialectConfiguration()
    configureDialects(&dialects)
    let frontend = HTTPFrontend(
      harness.gateway, configuration, dialects: dialects.dialects(nowMs: harness.gateway.keys.ring.nowMs))
    self.frontend = frontend
    let recorder = harness.recorder
    let local = TypedDispatcher(MethodRegistry(harness.gateway.services), observer: recorder)
    frontend.attach(harness.gateway.dispatcher(local: local, observer: recorder))
    listener = try await ServerBootstrap(group: Harness.group)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try frontend.configure(channel) {
            ["/healthz", "/metrics"].contains($0)
              ? HTTPAnswer(status: 200, contentType: "text/plain", body: [0x6F, 0x6B]) : nil
          }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = listener.localAddress?.port ?? 0
  }

  func stop() async {
    try? await listener.close()
    await harness.stop()
    await backend.server.shutdown()
  }

  var bearer: [String: String] { ["Authorization": "Bearer \(secret)"] }
  var json: [String: String] { bearer.merging(["Content-Type": "application/json"]) { a, _ in a } }

  func get(_ target: String, _ headers: [String: String] = [:]) async throws -> HTTPWire.Answer {
    try await HTTPWire.exchange(port: port, "GET", target, bearer.merging(headers) { _, b in b })
  }

  func post(_ target: String, _ body: String, _ headers: [String: String] = [:]) async throws -> HTTPWire.Answer {
    try await HTTPWire.exchange(port: port, "POST", target, json.merging(headers) { _, b in b }, body: body)
  }
}

func withHTTP(_ body: (HTTPHarness) async throws -> Void) async throws { try await withHTTP({ _ in }, body) }

/// Runs `body` with an HTTP frontend that is stopped afterwards.
func withHTTP(
  _ configure: (inout HTTPConfiguration) -> Void, gateway: (inout GatewayConfiguration) -> Void = { _ in },
  dialects: (inout DialectConfiguration) -> Void = { _ in },
  _ body: (HTTPHarness) async throws -> Void
) async throws {
  let http = try await HTTPHarness(gateway: gateway, configure: configure, dialects: dialects)
  do { try await body(http) } catch {
    await http.stop()
    throw error
  }
  await http.stop()
}
