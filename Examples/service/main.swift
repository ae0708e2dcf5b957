// The result of the tutorial Sources/CampanileRPC/CampanileRPC.docc/BuildingAService.md.

import CampanileBase
import CampanileHealthReflection
import CampanileRPC
import Logging
import ServiceLifecycle

struct HelloService: HelloServiceProtocol {
  func greet(_ request: GreetRequest, context: CallContext) async throws -> GreetResponse {
    if request.name.isEmpty { throw RPCError.invalidField("name", "must be given") }
    return GreetResponse(greeting: "Hello, \(request.name)!")
  }

  func countDown(
    _ request: CountDownRequest, context: CallContext, responses: ResponseSink<CountDownResponse>
  ) async throws {
    guard (0...10).contains(request.from) else { throw RPCError.invalidField("from", "must be 0 to 10") }
    for number in (0..<request.from).reversed() {
      try await responses.send(CountDownResponse(number: number + 1))
      try await Task.sleep(for: .milliseconds(100))
    }
  }
}

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
