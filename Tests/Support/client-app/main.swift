import CampanileBase
import CampanileCall
import CampanileCodec
import CampanileMessages
import Synchronization

/// A caller without a network: every response is prepared.
struct PreparedCaller: RPCCaller {
  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R {
    print(method.path, request.jsonString())
    return try R(responseJSON: Array(#"{"notification":{"id":"n_1","title":"Hello"},"newerField":1}"#.utf8))
  }

  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> {
    ResponseStream(PreparedStream([#"{"resumeToken":"1"}"#, #"{"resumeToken":"2"}"#]))
  }

  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: nonisolated(nonsending) @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R {
    let stream = PreparedStream([])
    try await requests(RequestSink(stream))
    return try R(responseJSON: Array(#"{"messageCount":\#(stream.sentCount)}"#.utf8))
  }

  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: nonisolated(nonsending) @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    ResponseStream(PreparedStream(["not JSON"]))
  }
}

/// A transport that has received all of its responses, and counts requests.
final class PreparedStream: StreamTransport {
  private let responses: Mutex<[String]>
  private let sent = Mutex(0)

  init(_ responses: [String]) { self.responses = Mutex(responses) }

  var sentCount: Int { sent.withLock { $0 } }

  func next() async -> StreamEvent {
    responses.withLock { $0.isEmpty ? .finished([]) : .message(Array($0.removeFirst().utf8)) }
  }

  func send(_ message: [UInt8]) async -> RPCError? {
    sent.withLock { $0 += 1 }
    return nil
  }

  func cancel(_ error: RPCError) { print("cancelled:", error.reason) }
}

// In a function, because variables of the program are never released, and releasing a stream cancels it.
func makeCalls() async throws {
  let notifications = NotificationsServiceClient(PreparedCaller())
  let request = CreateNotificationRequest(notification: Notification(bucketId: "b_1", title: "Hello"), requestId: "r1")
  print(try await notifications.createNotification(request).notification?.id ?? "none")
  for try await change in notifications.watchNotifications(WatchNotificationsRequest()) { print(change.resumeToken) }

  let echo = EchoServiceClient(PreparedCaller())
  let collected = try await echo.collect { requests in
    for _ in 1...3 { try await requests.send(CollectRequest(payload: "x")) }
  }
  print(collected.messageCount)
  do { for try await _ in echo.chat(requests: { _ in }) {} } catch { print(error.reason) }
}

try await makeCalls()
