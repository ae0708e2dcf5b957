import GRPCCore
import GRPCNIOTransportHTTP2
import NIOPosix

struct HelloService: Hello_V1_HelloService.SimpleServiceProtocol {
  func greet(request: Hello_V1_GreetRequest, context: ServerContext) async throws -> Hello_V1_GreetResponse {
    if request.name.isEmpty { throw RPCError(code: .invalidArgument, message: "name: must be given") }
    return .with { $0.greeting = "Hello, \(request.name)!" }
  }

  func countDown(
    request: Hello_V1_CountDownRequest, response: RPCWriter<Hello_V1_CountDownResponse>, context: ServerContext
  ) async throws {
    guard (0...10).contains(request.from) else {
      throw RPCError(code: .invalidArgument, message: "from: must be 0 to 10")
    }
    for number in (0..<request.from).reversed() {
      try await response.write(.with { $0.number = number + 1 })
      try await Task.sleep(for: .milliseconds(100))
    }
  }
}

let transport = HTTP2ServerTransport.Posix(
  address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext, config: .defaults,
  eventLoopGroup: MultiThreadedEventLoopGroup(numberOfThreads: 1))
let server = GRPCServer(transport: transport, services: [HelloService()])
try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { try await server.serve() }
  print(try await server.listeningAddress?.ipv4?.port ?? 0)
  try await group.waitForAll()
}
