// The result of the tutorial Sources/CampanileRPC/CampanileRPC.docc/BuildingAService.md.

import CampanileHealthReflection
import CampanileRPC
import Logging
import ServiceLifecycle

struct Serving: Service {
  let server: RPCServer

  func run() async throws {
    try await server.run(draining: .seconds(10)) { address in
      print("listening on \(address)")
      try await gracefulShutdown()
    }
  }
}

let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 7600
let logger = Logger(label: "hello")
let services: [any RPCService] = .withHealthAndReflection(
  [HelloService()], descriptorSet: HelloDescriptorSet.serializedBytes)
let server = RPCServer(
  ServerConfiguration(host: "127.0.0.1", port: port), services: services, interceptors: [.logging(logger)])
let group = ServiceGroup(
  services: [Serving(server: server)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
try await group.run()
