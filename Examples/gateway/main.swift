import CampanileBase
import CampanileRPC

/// Passes calls on to the servers behind it, within the time that the caller has left.
struct HelloGateway: HelloServiceProtocol {
  let backend: HelloServiceClient

  func greet(_ request: GreetRequest, context: CallContext) async throws -> GreetResponse {
    try await backend.greet(request, options: options(for: context))
  }

  func countDown(
    _ request: CountDownRequest, context: CallContext, responses: ResponseSink<CountDownResponse>
  ) async throws {
    let numbers = backend.countDown(request, options: options(for: context))
    for try await number in numbers { try await responses.send(number) }
  }

  private func options(for context: CallContext) -> CallOptions { CallOptions(timeout: context.deadline?.remaining()) }
}

// HelloService.swift is that of the example `service`.
let english = RPCServer(services: [HelloService(greeting: "Hello")])
let italian = RPCServer(services: [HelloService(greeting: "Ciao")])
let ports = [try await english.start().port, try await italian.start().port]
let addresses = ports.compactMap { $0.map { HostPort(host: "127.0.0.1", port: $0) } }
// The client of the gateway connects to the next server when the first one ends.
try await RPCClient.with(ClientConfiguration(addresses: addresses)) { backends in
  let gateway = RPCServer(services: [HelloGateway(backend: HelloServiceClient(backends))])
  try await gateway.run { address in
    try await RPCClient.with(ClientConfiguration(addresses: [address])) { caller in
      let client = HelloServiceClient(caller)
      print(try await client.greet(GreetRequest(name: "Ada")).greeting)
      await english.shutdown()
      print(try await client.greet(GreetRequest(name: "Ada")).greeting)
      for try await response in client.countDown(CountDownRequest(from: 3)) { print(response.number) }
      do { _ = try await client.greet(GreetRequest()) } catch { print(error) }
    }
  }
}
await italian.shutdown()
