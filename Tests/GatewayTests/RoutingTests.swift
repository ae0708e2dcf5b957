import CampanileAPI
import CampanileBase
import CampanileHealthReflection
import CampanileRPC
import Testing

@testable import Gateway

@Suite struct RoutingTests {
  private let table: RoutingTable = {
    let address = HostPort(host: "127.0.0.1", port: 1)
    return RoutingTable(
      backends: [
        BackendConfiguration(name: "notifications", addresses: [address]),
        BackendConfiguration(name: "sync", addresses: [address]),
      ], local: AccessServiceMethods.all + HealthMethods.all + ReflectionServiceMethods.all,
      methods: NotificationsServiceMethods.all + EchoServiceMethods.all, observer: SilentServerObserver())
  }()

  private func route(_ name: String) -> Route? {
    Array(name.utf8).withUnsafeBytes { table.route($0) }
  }

  @Test func describedMethodsAreRoutedWithTheirRequirements() {
    for method in NotificationsServiceMethods.all {
      let route = route(method.path)
      #expect(route?.target == .backend(0))
      #expect(route?.kind == method.kind && route?.isDescribed == true && route?.path == method.path)
      #expect(route?.requirement.scope(serviceName: "notifications") == method.scope)
      #expect(route?.isBulk == (method.isBulk || method.kind != .unary))
      #expect(route?.isRepeatable == (method.kind == .unary && method.idempotency != .noSideEffects))
    }
    for method in AccessServiceMethods.all {
      #expect(route(method.path)?.target == .local)
      let expected: Requirement.Kind = method.name == "GetCaller" ? .authenticated : .admin
      #expect(route(method.path)?.requirement.kind == expected)
    }
    for method in HealthMethods.all + ReflectionServiceMethods.all {
      #expect(route(method.path)?.requirement.kind == .open)
    }
  }

  @Test func newMethodsOfAServiceAreForwardedAsTheMostGeneralKind() {
    let route = route("campanile.sync.v1.SyncService/NotYetKnown")
    #expect(route?.target == .backend(1))
    #expect(route?.kind == .bidirectional && route?.isDescribed == false)
    #expect(route?.requirement == Requirement(kind: .write, serviceIndex: 1))
  }

  @Test(arguments: [
    "", "/", "campanile.sync.", "campanile.sync.v1.SyncService", "campanile.sync.v1/a/b", "campanile.other.v1.X/Y",
    "campanile.rpc.v1.EchoService/Echo", "Campanile.sync.v1.X/Y", " campanile.sync.v1.X/Y",
    "campanile.sync.v1.X/" + String(repeating: "y", count: 256),
  ])
  func unknownNamesHaveNoRoute(name: String) { #expect(route(name) == nil) }

  @Test func backendsAreParsed() throws {
    let backends = try BackendConfiguration.parse([
      "notifications=127.0.0.1:7401", "sync=[::1]:7403", "notifications=other.example:80",
      "echo@campanile.rpc.v1.EchoService=127.0.0.1:7500",
    ])
    #expect(backends.map(\.name) == ["notifications", "sync", "echo"])
    #expect(backends[0].addresses.map(\.description) == ["127.0.0.1:7401", "other.example:80"])
    #expect(backends[0].servicePrefix == "campanile.notifications.")
    #expect(backends[1].addresses == [HostPort(host: "::1", port: 7403)])
    #expect(backends[2].servicePrefix == "campanile.rpc.v1.EchoService")
  }

  @Test(arguments: [
    ["notifications"], ["=127.0.0.1:1"], ["a="], ["a=host"], ["a=:1"], ["a=host:0"], ["a=host:65536"], ["a=host:x"],
    ["Admin=host:1"], ["admin=host:1"], ["a=host:1", "a=host:1"], ["a@=host:1"], ["a@b/c=host:1"],
    ["a@campanile.=host:1", "sync=host:2"], ["a@x.y=h:1", "b@x.y=h:2"], ["a@x=h:1", "a@y=h:2"],
    (0...16).map { "a=host:\($0 + 1)" }, (0...64).map { "s\($0)=host:1" },
  ])
  func invalidBackendsAreRefused(entries: [String]) {
    #expect(throws: RPCError.self) { try BackendConfiguration.parse(entries) }
  }
}
