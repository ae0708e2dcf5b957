import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// A service that counts the executions of each payload. Its methods may have side effects.
final class CountingService: RPCService {
  static let count = method("Count")
  /// A method whose response holds a secret.
  static let secret = method("CountInSecret", hasSecretResponse: true)

  private let counts = Mutex<[String: Int]>([:])

  func register(in registry: inout MethodRegistry) {
    for method in [Self.count, Self.secret] {
      registry.unary(method) { (request: EchoRequest, _: CallContext) -> EchoResponse in
        if request.payload == "broken" { throw RPCError(.notFound, "there is nothing", reason: "NOTHING") }
        let count = self.counts.withLock { counts in
          counts[request.payload, default: 0] += 1
          return counts[request.payload] ?? 0
        }
        if request.delayMs > 0 { try await Task.sleep(for: .milliseconds(Int(request.delayMs))) }
        return EchoResponse(payload: "\(request.payload) \(count)")
      }
    }
  }

  func count(_ payload: String) -> Int { counts.withLock { $0[payload] ?? 0 } }

  private static func method(_ name: String, hasSecretResponse: Bool = false) -> MethodDescriptor {
    MethodDescriptor(
      path: "campanile.rpc.v1.EchoService/\(name)", kind: .unary, idempotency: .unknown,
      requestType: EchoRequest.protoFullName, responseType: EchoResponse.protoFullName, scope: "echo:write",
      hasSecretResponse: hasSecretResponse)
  }
}

/// A gateway in front of a counting service, and a client of `user/ada`.
struct RepliesSetting {
  let harness: Harness
  let counting: CountingService
  let client: RPCClient

  func call(
    _ payload: String, key: String?, method: MethodDescriptor = CountingService.count, delayMs: Int32 = 0,
    timeoutMs: Int64 = 5_000, session: String? = nil, on other: RPCClient? = nil
  ) async throws -> String {
    var options = CallOptions(timeoutMs: timeoutMs)
    if let key { options.metadata.add(key, for: "idempotency-key") }
    if let session { options.metadata.add(session, for: "attendance-session") }
    let response: EchoResponse = try await (other ?? client).unary(
      method, EchoRequest(payload, delayMs: delayMs), options: options)
    return response.payload
  }

  /// The number of stored responses of a principal, counted in the database.
  func rows(of principal: String) throws -> Int64 {
    try harness.store.readSingleBlocking { transaction in
      try transaction.queryOne("SELECT count(*) FROM store_idempotency WHERE principal = $1", [.text(principal)]) {
        try $0.integer(0)
      } ?? 0
    }
  }
}

/// Runs `body` with a gateway in front of a counting service.
func withReplies(
  folder: TemporaryFolder? = nil, isMaintained: Bool = false, _ configure: (inout ReplyLimits) -> Void = { _ in },
  _ body: (RepliesSetting) async throws -> Void
) async throws {
  let counting = CountingService()
  let backend = try await Backend(extra: [counting])
  let harness = try await Harness(backends: [backend.address], folder: folder, isMaintained: isMaintained) {
    $0.methods += [CountingService.count, CountingService.secret]
    configure(&$0.replies)
  }
  let client = try harness.client(token: try await harness.key().secret)
  do {
    try await body(RepliesSetting(harness: harness, counting: counting, client: client))
  } catch { Issue.record(error) }
  await harness.stop()
  await backend.server.shutdown()
}
