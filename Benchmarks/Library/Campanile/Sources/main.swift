import CampanileBase
import CampanileRPC
import NIOPosix

struct NoOperation: ServerInterceptor {
  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response { try await next(context) }
}

let interceptorCount = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 0
let server = RPCServer(
  services: [HelloService()], interceptors: Array(repeating: NoOperation(), count: interceptorCount),
  group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
print(try await server.start().port ?? 0)
try await Task.sleep(for: .seconds(86_400))
