import CampanileBase
import CampanileRPC
import Synchronization

/// The people in the room, each with the events to send. Every person receives every event, including their own.
final class Room: Sendable {
  /// The number of events that wait for a slow reader. Older ones are dropped.
  private static let waitingMax = 100
  private let people = Mutex<[String: AsyncStream<ChatResponse>.Continuation]>([:])

  func join(_ name: String) throws(RPCError) -> AsyncStream<ChatResponse> {
    let (events, continuation) = AsyncStream.makeStream(
      of: ChatResponse.self, bufferingPolicy: .bufferingNewest(Self.waitingMax))
    let isNew = people.withLock { people in
      if people[name] != nil { return false }
      people[name] = continuation
      return true
    }
    guard isNew else { throw RPCError(.alreadyExists, "\(name) is in the room already", reason: "NAME_TAKEN") }
    tell(ChatResponse(event: .joined(name)))
    return events
  }

  func leave(_ name: String) {
    people.withLock { $0.removeValue(forKey: name) }?.finish()
    tell(ChatResponse(event: .left(name)))
  }

  func tell(_ event: ChatResponse) {
    people.withLock { for person in $0.values { person.yield(event) } }
  }
}

struct ChatService: ChatServiceProtocol {
  private let room = Room()

  func chat(
    _ requests: RequestStream<ChatRequest>, context: CallContext, responses: ResponseSink<ChatResponse>
  ) async throws {
    guard let name = context.metadata["x-name"] else { throw RPCError.invalidField("x-name", "must be given") }
    let events = try room.join(name)
    // Both directions at once: events are sent while the next request is awaited.
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for await event in events { try await responses.send(event) } }
      do {
        defer { room.leave(name) }
        for try await request in requests {
          guard request.text.count <= 500 else {
            throw RPCError.invalidField("text", "must be at most 500 characters")
          }
          room.tell(ChatResponse(event: .line(.init(name: name, text: request.text))))
        }
      }
      try await group.waitForAll()
    }
  }
}
