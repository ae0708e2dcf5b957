import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileTesting
import Echo
import Testing

@testable import CampanileHealthReflection

/// A server that offers health and reflection, over sockets.
@Suite(.timeLimit(.minutes(1))) struct StandardServicesTests {
  @Test func servicesAreServedListedAndDescribed() async throws {
    let server = RPCServer(services: .withHealthAndReflection([EchoService()]))
    try await withClient(of: server) { client in
      #expect(try await EchoServiceClient(client).echo(EchoRequest(payload: "a")).payload == "a")
      let health = HealthClient(client)
      for name in ["", "campanile.rpc.v1.EchoService", "grpc.health.v1.Health"] {
        let status = try await health.check(HealthCheckRequest(service: name)).status
        #expect(status == .serving)
      }
      let reflection = ReflectionServiceClient(client)
      let services = try await reflection.listServices(ListServicesRequest()).services
      #expect(
        services.map(\.name) == [
          "campanile.rpc.v1.EchoService", "campanile.rpc.v1.ReflectionService", "grpc.health.v1.Health",
        ])
      let files = try await reflection.getFileDescriptorSet(GetFileDescriptorSetRequest()).fileDescriptorSet
      #expect(DescriptorFiles(files).files.contains { $0.services == ["Health"] })
    }
  }

  @Test func drainEndsHealthWatches() async throws {
    let server = RPCServer(services: .withHealthAndReflection([]))
    try await withClient(of: server) { client in
      var states: [HealthCheckResponse.ServingStatus] = []
      let error = await #expect(throws: RPCError.self) {
        for try await state in HealthClient(client).watch(HealthCheckRequest()) {
          states.append(state.status)
          if states.count == 1 { Task { await server.drain(timeout: .seconds(10)) } }
        }
      }
      #expect(states == [.serving, .notServing])
      #expect(error?.reason == "SERVER_DRAINING")
    }
  }

  @Test func forwardedMethodsAreListedButNotServed() async throws {
    let server = RPCServer(services: .withHealthAndReflection([], forwarded: EchoServiceMethods.all))
    try await withClient(of: server) { client in
      let services = try await ReflectionServiceClient(client).listServices(ListServicesRequest()).services
      #expect(services.map(\.name).contains(EchoServiceMethods.serviceName))
      let error = await #expect(throws: RPCError.self) { try await EchoServiceClient(client).echo(EchoRequest()) }
      #expect(error?.code == .unimplemented)
    }
  }
}
