import CampanileBase
import CampanileCodec
import Synchronization

/// Passes the messages of one call through a server's interceptors.
class InterceptedMessages: @unchecked Sendable {
  // `@unchecked`: `context` is set once, and read only through the streams that the handler receives afterwards.
  // Subclasses have constants of `Sendable` types only.
  final let interceptors: ServerInterceptors
  private let hasBegun = Atomic(false)
  /// The context that the handler of a stream receives.
  private final var context: CallContext?

  init(_ interceptors: ServerInterceptors) { self.interceptors = interceptors }

  /// Sets the context of a stream's messages. Throws INTERNAL `INTERCEPTOR_FAILED` the second time.
  final func beginStream(_ context: CallContext) throws(RPCError) {
    guard !hasBegun.exchange(true, ordering: .relaxed) else {
      throw RPCError(.internalError, "an interceptor continued the call twice", reason: "INTERCEPTOR_FAILED")
    }
    self.context = context
  }

  /// Passes a message of the request stream.
  final func request<Message: ProtoMessage>(_ message: Message) throws -> Message {
    try context.map { try interceptors.request(message, $0) } ?? message
  }

  /// Passes a message of the response stream.
  final func response<Message: ProtoMessage>(_ message: Message) throws -> Message {
    try context.map { try interceptors.response(message, $0) } ?? message
  }
}
