import CampanileBase
import CampanileCodec
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import CampanileRPC

/// A server that responds with its name.
private struct NamedService: RPCService {
  let name: String

  func register(in registry: inout MethodRegistry) {
    registry.unary(clientEcho) { (note: Note, _: CallContext) async throws -> Note in
      if note.count > 0 { try await Task.sleep(for: .milliseconds(Int(note.count))) }
      return Note(name)
    }
  }
}

/// Clients of several equal servers, over sockets.
@Suite(.timeLimit(.minutes(1))) struct ClientBalancingTests {
  private func server(_ name: String, host: String = "127.0.0.1", port: Int = 0) -> RPCServer {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    return RPCServer(ServerConfiguration(host: host, port: port, logger: quiet), services: [NamedService(name: name)])
  }

  /// Starts a server for each name, on the same port of successive addresses.
  private func servers(_ names: [String]) async throws -> (servers: [RPCServer], port: Int) {
    let port = fixedPort()
    let servers = names.enumerated().map { server($1, host: "127.0.0.\($0 + 1)", port: port) }
    for server in servers { _ = try await server.start() }
    return (servers, port)
  }

  /// Starts servers, and calls `body` with a client of these hosts, the servers, and their port.
  private func withServers(
    _ names: [String], hosts: [String], resolver: ScriptedResolver = ScriptedResolver([]),
    _ body: (RPCClient, inout [RPCServer], Int) async throws -> Void
  ) async throws {
    var (servers, port) = try await servers(names)
    let client = try client(hosts, port: port, resolver: resolver)
    try await body(client, &servers, port)
    await client.close()
    for server in servers { await server.shutdown() }
  }

  private func client(_ hosts: [String], port: Int, resolver: ScriptedResolver) throws -> RPCClient {
    var configuration = ClientConfiguration(addresses: hosts.map { HostPort(host: $0, port: port) })
    configuration.balancing = .everyAddress
    configuration.resolveInterval = .milliseconds(20)
    configuration.backoff = Backoff(initialDelay: .milliseconds(10), delayMax: .milliseconds(50))
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    var environment = ClientEnvironment()
    environment.resolver = resolver
    return try RPCClient(configuration, group: loop, environment: environment)
  }

  /// Makes calls one after the other, and returns the number of responses of each server.
  private func responses(_ client: RPCClient, calls: Int = 30) async throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for _ in 0..<calls {
      let note: Note = try await client.unary(clientEcho, Note())
      counts[note.text, default: 0] += 1
    }
    return counts
  }

  @Test("calls one after the other are shared equally by all addresses")
  func equalShares() async throws {
    try await withServers(["a", "b", "c"], hosts: ["127.0.0.1", "127.0.0.2", "127.0.0.3"]) { client, _, _ in
      try await eventually("all are connected") { try await responses(client) == ["a": 10, "b": 10, "c": 10] }
    }
  }

  @Test("a call goes to the address with the fewest open calls")
  func fewestOpenCalls() async throws {
    try await withServers(["a", "b"], hosts: ["127.0.0.1", "127.0.0.2"]) { client, _, _ in
      try await eventually("both are connected") { try await responses(client, calls: 4).count == 2 }
      let slow = Task { try await client.unary(clientEcho, Note("", count: 60_000)) as Note }
      try await eventually("the other address gets all calls") { try await responses(client, calls: 6).count == 1 }
      slow.cancel()
    }
  }

  @Test("an address that fails gets no calls, and gets calls again after its return")
  func failureAndReturn() async throws {
    try await withServers(["a", "b"], hosts: ["127.0.0.1", "127.0.0.2"]) { client, servers, port in
      try await eventually("both are connected") { try await responses(client).count == 2 }
      await servers[1].shutdown()
      // A call that was sent to the ended server may fail; all others succeed.
      try await eventually("the failure is known") { (try? await responses(client)) == ["a": 30] }
      servers[1] = server("b", host: "127.0.0.2", port: port)
      _ = try await servers[1].start()
      try await eventually("both are connected again") { try await responses(client) == ["a": 15, "b": 15] }
    }
  }

  @Test("a client whose first address does not exist uses the others")
  func absentAddress() async throws {
    try await withServers(["a"], hosts: ["127.0.0.3", "127.0.0.1"]) { client, _, _ in
      let found = try await responses(client)
      #expect(found == ["a": 30])
    }
  }

  @Test("a name stands for all of its addresses, and calls follow its changes")
  func namesAreResolved() async throws {
    let resolver = ScriptedResolver(["127.0.0.1", "127.0.0.2"])
    try await withServers(["a", "b", "c"], hosts: ["servers.test"], resolver: resolver) { client, _, _ in
      try await eventually("the name is resolved") { resolver.askedCount > 1 }
      try await eventually("both are connected") { try await responses(client) == ["a": 15, "b": 15] }

      let open = (0..<2).map { _ in Task { try await client.unary(clientEcho, Note("", count: 200)) as Note } }
      resolver.set(["127.0.0.2", "127.0.0.3"])
      try await eventually("the new address has replaced the first") {
        try await responses(client) == ["b": 15, "c": 15]
      }
      var finished: Set<String> = []
      for call in open { finished.insert(try await call.value.text) }
      #expect(finished == ["a", "b"])

      resolver.set([])
      let askedCount = resolver.askedCount
      try await eventually("the name is resolved again") { resolver.askedCount > askedCount + 1 }
      #expect(try await responses(client) == ["b": 15, "c": 15])
      await client.close()
      let closed = await failure { try await responses(client) }
      #expect(closed?.reason == "CLIENT_CLOSED")
    }
  }

  @Test("the interval of name resolution must be positive")
  func invalidInterval() async {
    var configuration = ClientConfiguration(host: "localhost", port: 1)
    configuration.resolveInterval = .zero
    let error = await failure { try RPCClient(configuration) }
    #expect(error?.reason == "CONFIGURATION_INVALID")
  }
}
