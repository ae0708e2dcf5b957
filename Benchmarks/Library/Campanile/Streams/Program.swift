import CampanileBase
import CampanileRPC
import NIOPosix

struct NoOperation: ServerInterceptor, ClientInterceptor {
  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response { try await next(context) }

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    try await next(call)
  }
}

struct StreamService: StreamServiceProtocol {
  func collect(_ requests: RequestStream<CollectRequest>, context: CallContext) async throws -> CollectResponse {
    var response = CollectResponse()
    for try await _ in requests { response.messageCount += 1 }
    return response
  }

  func chat(
    _ requests: RequestStream<ChatRequest>, context: CallContext, responses: ResponseSink<ChatResponse>
  ) async throws {
    for try await request in requests { try await responses.send(ChatResponse(text: request.text)) }
  }
}

/// A server, if the number of interceptors is the only argument, and otherwise a client.
///
/// A client has the arguments port, interceptors, calls, messages of each call, and method.
@main
enum Program {
  static func main() async throws {
    let numbers = CommandLine.arguments.compactMap { Int($0) }
    if numbers.count == 1 { return try await serve(interceptorCount: numbers[0]) }
    let client = try RPCClient(ClientConfiguration(host: "127.0.0.1", port: numbers[0]))
    let streams = StreamServiceClient(client.intercepted(by: Array(repeating: NoOperation(), count: numbers[1])))
    for _ in 0..<numbers[2] {
      if CommandLine.arguments.last == "Collect" {
        try await collect(streams, messageCount: numbers[3])
      } else {
        try await chat(streams, messageCount: numbers[3])
      }
    }
  }

  private static func serve(interceptorCount: Int) async throws {
    let server = RPCServer(
      services: [StreamService()], interceptors: Array(repeating: NoOperation(), count: interceptorCount),
      group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
    print(try await server.start().port ?? 0)
    try await Task.sleep(for: .seconds(86_400))
  }

  private static func collect(_ streams: StreamServiceClient, messageCount: Int) async throws {
    let response = try await streams.collect { requests in
      for _ in 0..<messageCount { try await requests.send(CollectRequest(text: "Ada")) }
    }
    precondition(response.messageCount == messageCount)
  }

  /// Sends each message after the response to the one before, so that a read has one message, whatever the speeds.
  private static func chat(_ streams: StreamServiceClient, messageCount: Int) async throws {
    let (turns, turn) = AsyncStream.makeStream(of: Void.self)
    turn.yield()
    let responses = streams.chat { requests in
      var iterator = turns.makeAsyncIterator()
      for _ in 0..<messageCount {
        _ = await iterator.next()
        try await requests.send(ChatRequest(text: "Ada"))
      }
    }
    var count = 0
    for try await _ in responses {
      count += 1
      turn.yield()
    }
    precondition(count == messageCount)
  }
}
