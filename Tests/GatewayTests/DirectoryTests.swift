import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// A flag that ends the tasks of a test.
private final class Flag: Sendable {
  private let value = Atomic(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}

/// Backends whose addresses change while the gateway serves.
@Suite struct DirectoryTests {
  private let hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]

  /// Backends on the same port of several addresses, like containers behind one name.
  private func backends(_ count: Int) async throws -> [Backend] {
    let port = fixedPort()
    var all: [Backend] = []
    for host in hosts[..<count] { all.append(try await Backend(host: host, port: port)) }
    return all
  }

  private func withName(
    _ resolver: ScriptedResolver, _ backends: [Backend], drainMs: Int64 = 60_000,
    _ body: (Harness, EchoServiceClient) async throws -> Void
  ) async throws {
    let name = HostPort(host: "echo.test", port: backends[0].address.port)
    let harness = try await Harness(backends: [name], isMaintained: true) { configuration in
      configuration.resolver = resolver
      configuration.resolveMs = 20
      configuration.addressDrainMs = drainMs
    }
    let echo = try await harness.echo()
    try await body(harness, echo)
    await harness.stop()
    for backend in backends { await backend.server.shutdown() }
  }

  private func addresses(_ harness: Harness, isLeaving: Bool = false) async -> Set<String> {
    let facts = await harness.gateway.backendStatuses()
    return Set(facts[0].addresses.filter { $0.isLeaving == isLeaving }.map { String($0.address.prefix { $0 != ":" }) })
  }

  @Test func allAddressesOfANameAreUsed() async throws {
    let backends = try await backends(3)
    try await withName(ScriptedResolver(hosts), backends) { harness, echo in
      try await eventually("all serve") {
        await harness.gateway.backendStatuses()[0].addresses.allSatisfy { $0.health == "serving" }
      }
      for index in 0..<300 { #expect(try await echo.echo(EchoRequest("\(index)")).payload == "\(index)") }
      for backend in backends { #expect(!backend.seen.all.isEmpty) }
    }
  }

  /// Open calls at a removed address finish, and new calls go to the other addresses: no call fails.
  @Test func addressesComeAndGoWithoutAFailedCall() async throws {
    let backends = try await backends(3)
    let resolver = ScriptedResolver(["127.0.0.1"])
    try await withName(resolver, backends) { harness, echo in
      let isOver = Flag()
      let load = Task {
        try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<8 {
            group.addTask {
              var count = 0
              while !isOver.isSet {
                _ = try await echo.echo(EchoRequest("x", delayMs: count % 16 == 0 ? 30 : 0))
                count += 1
              }
              return count
            }
          }
          return try await group.reduce(0, +)
        }
      }
      for change in [hosts, ["127.0.0.2"], ["127.0.0.3", "127.0.0.1"], ["127.0.0.2", "127.0.0.3"], ["127.0.0.1"]] {
        resolver.set(change)
        try await eventually("\(change) is in use") { await addresses(harness) == Set(change) }
        try await eventually("the others are released") { await addresses(harness, isLeaving: true).isEmpty }
        let before = backends.map { $0.seen.all.count }
        try await eventually("all of them receive calls") {
          zip(backends, before).allSatisfy { backend, count in
            !change.contains(backend.address.host) || backend.seen.all.count > count
          }
        }
      }
      isOver.set()
      #expect(try await load.value > 0)
    }
  }

  @Test func drainingABackendFailsNoCall() async throws {
    let backends = try await backends(2)
    try await withName(ScriptedResolver(["127.0.0.1", "127.0.0.2"]), backends) { harness, echo in
      try await eventually("both serve") {
        await harness.gateway.backendStatuses()[0].addresses.allSatisfy { $0.health == "serving" }
      }
      let isOver = Flag()
      let load = Task {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<8 {
            group.addTask {
              while !isOver.isSet {
                _ = try await echo.echo(EchoRequest("x", delayMs: index % 2 == 0 ? 20 : 0))
              }
            }
          }
          try await group.waitForAll()
        }
      }
      try await eventually("both are called") { backends.allSatisfy { $0.seen.all.count > 20 } }
      await backends[0].server.drain(timeout: .seconds(10))
      await backends[0].server.shutdown()
      let before = backends[1].seen.all.count
      try await eventually("the other one is called") { backends[1].seen.all.count > before + 100 }
      isOver.set()
      try await load.value
    }
  }

  @Test func streamsAtARemovedAddressAreEnded() async throws {
    let backends = try await backends(2)
    let resolver = ScriptedResolver(["127.0.0.1"])
    try await withName(resolver, backends, drainMs: 50) { harness, echo in
      var bounded = ExpandRequest.endless
      bounded.count = 40
      bounded.intervalMs = 20
      let finishing = Task {
        var count = 0
        for try await _ in echo.expand(bounded, options: CallOptions(timeoutMs: 60_000)) { count += 1 }
        return count
      }
      let endless = Task { for try await _ in echo.expand(.endless) {} }
      try await eventually("both are open") { backends[0].seen.all.count == 2 }
      resolver.set(["127.0.0.2"])
      let error = await expectFailure(.unavailable, "BACKEND_DRAINING") { try await endless.value }
      #expect(error?.processed != false)
      // A stream that ends by itself may finish.
      #expect(try await finishing.value == 40)
      _ = try await echo.echo(EchoRequest("x"))
      #expect(backends[1].seen.all.count == 1)
      try await eventually("the address is released") { await addresses(harness, isLeaving: true).isEmpty }
    }
  }

  /// Calls that wait for an unreachable address follow the name to its new address, and none fails.
  @Test func waitingCallsFollowTheNameToANewAddress() async throws {
    let backend = try await Backend(port: fixedPort())
    // Accepts connections and sends nothing.
    let silent = try await ServerBootstrap(group: Harness.group).childChannelOption(.autoRead, value: false)
      .bind(host: "127.0.0.2", port: backend.address.port).get()
    let resolver = ScriptedResolver(["127.0.0.2"])
    let name = HostPort(host: "echo.test", port: backend.address.port)
    let harness = try await Harness(backends: [name], isMaintained: true) { configuration in
      configuration.resolver = resolver
      configuration.resolveMs = 20
      configuration.connectTimeoutMs = 60_000
    }
    let echo = try await harness.echo()
    let calls = (0..<40).map { index in Task { try await echo.echo(EchoRequest("\(index)")).payload } }
    let stream = Task {
      let request = ExpandRequest(count: 3)
      var count = 0
      for try await _ in echo.expand(request) { count += 1 }
      return count
    }
    try await eventually("all calls wait") { await harness.gateway.openCallRecords(1_000).count == 41 }
    resolver.set(["127.0.0.1"])
    for (index, call) in calls.enumerated() { #expect(try await call.value == "\(index)") }
    #expect(try await stream.value == 3)
    #expect(await harness.gateway.backendStatuses()[0].breaker == "closed")
    await harness.stop()
    try await silent.close()
    await backend.server.shutdown()
  }

  @Test func unresolvableNameKeepsItsAddresses() async throws {
    let backends = try await backends(2)
    let resolver = ScriptedResolver(["127.0.0.1", "127.0.0.2"])
    try await withName(resolver, backends) { harness, echo in
      resolver.set([])
      let before = resolver.askedCount
      try await eventually("the name is resolved again") { resolver.askedCount > before + 2 }
      #expect(await addresses(harness) == ["127.0.0.1", "127.0.0.2"])
      _ = try await echo.echo(EchoRequest("x"))
    }
  }

  /// Addresses beyond the maximum are dropped, IPv6 is ignored if there is IPv4, and duplicates count once.
  @Test func numberOfResolvedAddressesIsLimited() async throws {
    let backends = try await backends(1)
    let many = (1...40).map { "127.0.1.\($0)" }
    try await withName(ScriptedResolver(many + ["::1", "::ffff:127.0.1.1"] + many), backends) { harness, _ in
      let found = await addresses(harness)
      #expect(found.count == 16 && found.allSatisfy { $0.hasPrefix("127.0.1.") })
    }
  }

  @Test func reloadChangesOnlyAddressesAndLimits() async throws {
    let (first, second) = (try await Backend(), try await Backend())
    let harness = try await Harness(backends: [first.address])
    let echo = try await harness.echo()
    _ = try await echo.echo(EchoRequest("a"))
    func configuration(_ name: String, _ address: HostPort) -> GatewayConfiguration {
      GatewayConfiguration(
        backends: [
          BackendConfiguration(name: name, servicePrefix: "campanile.rpc.v1.EchoService", addresses: [address])
        ], methods: EchoServiceMethods.all, internalToken: internalToken)
    }
    #expect(throws: RPCError.self) { _ = try harness.gateway.prepare(configuration("other", second.address)) }
    var wanted = configuration("echo", second.address)
    wanted.limits.principalRate = RateLimit(perSecond: 1, burst: 3)
    wanted.limits.loopLateMs = 600_000
    let commit = try harness.gateway.prepare(wanted)
    _ = try await echo.echo(EchoRequest("b"))
    #expect(first.seen.all.count == 2)
    commit()
    try await eventually("calls go to the other address") {
      // The rate may be exhausted by then, because the reload also sets a limit.
      _ = try? await echo.echo(EchoRequest("c"))
      return !second.seen.all.isEmpty
    }
    // Until the connection's event loop received the change, calls may still have gone to the first address.
    let seenByFirst = first.seen.all.count
    try await eventually("the new rate applies") {
      do {
        _ = try await echo.echo(EchoRequest("d"))
        return false
      } catch let error as RPCError { return error.reason == "RATE_LIMITED" }
    }
    var unlimited = wanted
    unlimited.limits.principalRate = nil
    (try harness.gateway.prepare(unlimited))()
    for _ in 0..<20 { _ = try await echo.echo(EchoRequest("e")) }
    #expect(first.seen.all.count == seenByFirst)
    await harness.stop()
    await first.server.shutdown()
    await second.server.shutdown()
  }
}

/// A backend with a stream of numbered changes that resumes after a token, like the suite's watches.
private final class CountingBackend: Sendable {
  private struct Service: RPCService {
    let open: OpenCount

    func register(in registry: inout MethodRegistry) {
      registry.serverStreaming(EchoServiceMethods.expand) {
        (request: ExpandRequest, _, sink: ResponseSink<ExpandResponse>) in
        open.value.add(1, ordering: .relaxed)
        defer { open.value.subtract(1, ordering: .relaxed) }
        var response = ExpandResponse(index: Int32(request.payload) ?? 0)
        while !Task.isCancelled {
          response.index += 1
          try await sink.send(response)
          try await Task.sleep(for: .milliseconds(1))
        }
      }
    }
  }
  final class OpenCount: Sendable { let value = Atomic<Int>(0) }

  let open = OpenCount()
  let server: RPCServer
  let address: HostPort

  init() async throws {
    server = RPCServer(
      ServerConfiguration(), dispatcher: TypedDispatcher(MethodRegistry([Service(open: open)])),
      authenticator: InternalTokenAuthenticator(token: internalToken), group: Harness.group)
    address = HostPort(host: "127.0.0.1", port: try await server.start().port ?? 0)
  }
}

@Suite struct ResumeTests {
  /// A watch that loses its backend resumes after its token at another address, without gaps and duplicates.
  @Test func streamResumesAtAnotherAddress() async throws {
    let backends = [try await CountingBackend(), try await CountingBackend()]
    let harness = try await Harness(backends: backends.map(\.address))
    let echo = try await harness.echo()
    var seen: [Int32] = []
    for round in 0..<2 {
      let request = ExpandRequest(payload: seen.last.map { String($0) } ?? "")
      let mark = seen.count
      do {
        for try await response in echo.expand(request) {
          seen.append(response.index)
          guard seen.count == mark + 20 else { continue }
          if round == 1 { break }
          let serving = try #require(backends.first { $0.open.value.load(ordering: .relaxed) > 0 })
          await serving.server.shutdown()
        }
      } catch let error as RPCError { #expect(round == 0 && error.code == .unavailable, "\(error)") }
    }
    #expect(seen.count >= 40)
    #expect(seen == Array(1...Int32(seen.count)))
    await harness.stop()
    for backend in backends { await backend.server.shutdown() }
  }
}
