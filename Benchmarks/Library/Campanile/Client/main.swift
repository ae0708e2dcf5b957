import CampanileBase
import CampanileRPC

struct NoOperation: ClientInterceptor {
  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    try await next(call)
  }
}

// The port of a server, the number of interceptors, the number of calls, and the name of the method.
let numbers = CommandLine.arguments.compactMap { Int($0) }
let method = CommandLine.arguments.last
let client = try RPCClient(ClientConfiguration(host: "127.0.0.1", port: numbers[0]))
let hello = HelloServiceClient(client.intercepted(by: Array(repeating: NoOperation(), count: numbers[1])))
for _ in 0..<numbers[2] {
  if method == "Greet" {
    _ = try await hello.greet(GreetRequest(name: "Ada"))
  } else {
    for try await _ in hello.countDown(CountDownRequest(from: 0)) {}
  }
}
