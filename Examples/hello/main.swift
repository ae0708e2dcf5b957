import CampanileBase
import CampanileHealthReflection
import CampanileRPC

/// Implements the service of hello.proto. A thrown `RPCError` is the caller's error.
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

// The server chooses a free port of this machine, and ends with the closure. Load balancers ask for its health.
let services: [any RPCService] = .withHealthAndReflection(
  [HelloService()], descriptorSet: HelloDescriptorSet.serializedBytes)
let server = RPCServer(services: services)
try await server.run { address in
  try await RPCClient.with(ClientConfiguration(addresses: [address])) { client in
    let hello = HelloServiceClient(client)
    print(try await hello.greet(GreetRequest(name: "Ada"), options: CallOptions(timeout: .seconds(2))).greeting)
    for try await response in hello.countDown(CountDownRequest(from: 3)) { print(response.number) }
    do { _ = try await hello.greet(GreetRequest()) } catch { print(error) }
  }
}
