import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore
import Echo
import Foundation
import Logging
import NIOCore
import NIOPosix
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// The internal token of the gateway and backends of a test.
let internalToken = "internal-token-of-the-test"

/// The contexts of the calls that a backend's handlers received.
final class SeenCalls: Sendable {
  private let contexts = Mutex<[CallContext]>([])
  func add(_ context: CallContext) { contexts.withLock { $0.append(context) } }
  var all: [CallContext] { contexts.withLock { $0 } }
  var last: CallContext? { all.last }
}

/// An echo service that records the contexts of its calls.
struct RecordingEcho: RPCService {
  let echo = EchoService()
  let seen: SeenCalls

  func register(in registry: inout MethodRegistry) {
    registry.unary(EchoServiceMethods.echo) { request, context in
      seen.add(context)
      return try await echo.echo(request, context: context)
    }
    registry.serverStreaming(EchoServiceMethods.expand) { request, context, sink in
      seen.add(context)
      try await echo.expand(request, context: context, responses: sink)
    }
    registry.clientStreaming(EchoServiceMethods.collect) { requests, context in
      seen.add(context)
      return try await echo.collect(requests, context: context)
    }
    registry.bidirectional(EchoServiceMethods.chat) { requests, context, sink in
      seen.add(context)
      try await echo.chat(requests, context: context, responses: sink)
    }
    registry.unary(EchoServiceMethods.fail) { request, context in
      seen.add(context)
      return try await echo.fail(request, context: context)
    }
  }
}

/// A server behind the gateway.
final class Backend: Sendable {
  let seen = SeenCalls()
  let server: RPCServer
  let address: HostPort

  init(extra: [any RPCService] = [], host: String = "127.0.0.1", port: Int = 0) async throws {
    var registry = MethodRegistry([RecordingEcho(seen: seen)] + extra)
    _ = registry.methods
    server = RPCServer(
      ServerConfiguration(host: host, port: port), dispatcher: TypedDispatcher(registry),
      authenticator: InternalTokenAuthenticator(token: internalToken), group: MultiThreadedEventLoopGroup.singleton)
    registry = MethodRegistry()
    let bound = try await server.start()
    address = HostPort(host: host, port: bound.port ?? 0)
  }
}

/// A gateway with its store and server.
final class Harness: Sendable {
  static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
  let folder: TemporaryFolder
  let store: Store
  let gateway: Gateway
  let server: RPCServer
  let port: Int
  let recorder: RecordingObserver
  /// The gateway's maintenance. A test that does without it only follows other gateways.
  private let maintenance: Task<Void, Never>
  private let clients = Mutex<[RPCClient]>([])

  init(
    backends: [HostPort], folder: TemporaryFolder? = nil, isMaintained: Bool = false,
    observation: CallObservation? = nil, configure: (inout GatewayConfiguration) -> Void = { _ in }
  ) async throws {
    self.folder = try folder ?? TemporaryFolder()
    var stored = try TestStore.configuration(self.folder.file("gateway.sqlite"))
    let peers = GatewayPeers()
    peers.attach(to: &stored)
    store = try Store(stored, migrations: Gateway.migrations)
    var configuration = GatewayConfiguration(
      backends: backends.isEmpty
        ? [] : [BackendConfiguration(name: "echo", servicePrefix: "campanile.rpc.v1.EchoService", addresses: backends)],
      methods: EchoServiceMethods.all, internalToken: internalToken)
    // Event loops may be late on a busy test machine.
    configuration.limits.loopLateMs = 600_000
    configure(&configuration)
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    gateway = try Gateway(configuration, store: store, peers: peers, group: Self.group, logger: logger)
    await gateway.resolveBackends()
    try await gateway.prepare()
    recorder = RecordingObserver(calls: gateway.calls)
    let local = TypedDispatcher(MethodRegistry(gateway.services), observer: recorder)
    server = RPCServer(
      ServerConfiguration(logger: logger),
      dispatcher: gateway.dispatcher(local: local, observer: recorder, observation: observation),
      authenticator: gateway.helloAuthenticator,
      group: Self.group)
    maintenance = Task { [gateway] in await isMaintained ? gateway.maintain() : gateway.followPeers() }
    port = try await server.start().port ?? 0
  }

  /// Stops clients, server, gateway and store. If a test fails earlier, its connections end with the process.
  func stop() async {
    for client in clients.withLock({ $0 }) { await client.close() }
    await server.shutdown()
    maintenance.cancel()
    await maintenance.value
    await gateway.stop()
    await store.close()
  }

  func client(token: String? = nil, configure: (inout ClientConfiguration) -> Void = { _ in }) throws -> RPCClient {
    var configuration = ClientConfiguration(host: "127.0.0.1", port: port, token: token)
    configuration.retry.attemptsMax = 1
    configure(&configuration)
    let client = try RPCClient(configuration)
    clients.withLock { $0.append(client) }
    return client
  }

  /// A client of the operator.
  func admin() throws -> AccessServiceClient { AccessServiceClient(try client(token: internalToken)) }

  func key(_ principal: String = "user/ada", scopes: [String] = [], expireTime: ProtoTimestamp? = nil) async throws
    -> CreateApiKeyResponse
  {
    try await admin().createApiKey(.init(principal: principal, scopes: scopes, expireTime: expireTime))
  }

  /// An echo client with a new key of `user/ada`.
  func echo(scopes: [String] = []) async throws -> EchoServiceClient {
    EchoServiceClient(try client(token: try await key(scopes: scopes).secret))
  }
}

/// An observer that records started and finished calls.
final class RecordingObserver: ServerObserver {
  struct Finish: Sendable, Hashable {
    var method: String
    var code: String
  }
  let finishes = Mutex<[Finish]>([])
  private let calls: CallMetrics

  init(calls: CallMetrics) { self.calls = calls }

  final class Recorder: MethodRecorder {
    let method: String
    let owner: RecordingObserver
    let counts: any MethodRecorder

    init(method: String, owner: RecordingObserver, counts: any MethodRecorder) {
      self.method = method
      self.owner = owner
      self.counts = counts
    }

    func callStarted(on shard: CounterShard) { counts.callStarted(on: shard) }
    func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {
      counts.callFinished(code: code, durationNs: durationNs, on: shard)
      owner.finishes.withLock { $0.append(Finish(method: method, code: code?.name ?? "OK")) }
    }
  }

  func connectionOpened() {}
  func connectionClosed() {}
  func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    Recorder(method: method?.name ?? "_OTHER", owner: self, counts: calls.recorder(for: method))
  }
  var all: [Finish] { finishes.withLock { $0 } }
}

func expectFailure<T>(
  _ code: RPCError.Code, _ reason: String, _ body: () async throws -> T,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> RPCError? {
  do {
    _ = try await body()
    Issue.record("the call succeeded", sourceLocation: sourceLocation)
    return nil
  } catch let error as RPCError {
    #expect(error.code == code, sourceLocation: sourceLocation)
    #expect(error.reason == reason, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record("\(error)", sourceLocation: sourceLocation)
    return nil
  }
}

extension EchoRequest {
  init(_ payload: String, delayMs: Int32 = 0) {
    self.init()
    self.payload = payload
    self.delayMs = delayMs
  }
}
