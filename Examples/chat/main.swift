import CampanileBase
import CampanileRPC

/// A call of one person. Its requests are the lines that the person says.
struct Visit {
  private let lines: AsyncStream<String>.Continuation
  private var events: ResponseStream<ChatResponse>.Iterator

  init(_ name: String, _ client: ChatServiceClient) {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    self.lines = continuation
    events = client.chat(options: CallOptions(metadata: ["x-name": name])) { requests in
      for await line in lines { try await requests.send(ChatRequest(text: line)) }
    }.makeAsyncIterator()
  }

  func say(_ text: String) { lines.yield(text) }

  /// Ends the requests. The server then ends the responses.
  func leave() { lines.finish() }

  /// Waits for the next event, and returns it as a line of text.
  mutating func hear() async throws -> String {
    switch try await events.next()?.event {
    case .joined(let name): "\(name) joined"
    case .left(let name): "\(name) left"
    case .line(let line): "\(line.name): \(line.text)"
    case nil: "the call has ended"
    }
  }
}

let server = RPCServer(services: [ChatService()])
try await server.run { address in
  try await RPCClient.with(ClientConfiguration(addresses: [address])) { caller in
    let client = ChatServiceClient(caller)
    var ada = Visit("ada", client)
    print("ada hears:", try await ada.hear())
    var grace = Visit("grace", client)
    print("ada hears:", try await ada.hear())
    print("grace hears:", try await grace.hear())
    grace.say("Hello, Ada!")
    print("ada hears:", try await ada.hear())
    print("grace hears:", try await grace.hear())
    var second = Visit("ada", client)
    do { print(try await second.hear()) } catch { print(error) }
    ada.leave()
    print("ada hears:", try await ada.hear())
    print("grace hears:", try await grace.hear())
    grace.leave()
    print("grace hears:", try await grace.hear())
  }
}
