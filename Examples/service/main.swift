// The result of the tutorial Sources/CampanileRPC/CampanileRPC.docc/BuildingAService.md.

import CampanileHealthReflection
import CampanileIntegrations
import CampanileRPC
import Logging
import ServiceLifecycle

let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 7600
let logger = Logger(label: "hello")
let services: [any RPCService] = .withHealthAndReflection(
  [HelloService()], descriptorSet: HelloDescriptorSet.serializedBytes)
let server = RPCServer(
  ServerConfiguration(host: "127.0.0.1", port: port, logger: logger), services: services,
  interceptors: [.logging(logger)])
let group = ServiceGroup(services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
try await group.run()
