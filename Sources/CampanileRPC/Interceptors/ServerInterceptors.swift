import CampanileCodec

/// The interceptors of a server, in order; at least one.
final class ServerInterceptors: Sendable {
  /// The outermost one: with an element of `all`, the frame that waits for it would be larger.
  let first: any ServerInterceptor
  let all: [any ServerInterceptor]

  /// Returns nil if there are none.
  init?(_ interceptors: [any ServerInterceptor]) {
    guard let first = interceptors.first else { return nil }
    self.first = first
    all = interceptors
  }

  func request<Message: ProtoMessage>(_ message: Message, _ context: CallContext) throws -> Message {
    var message = message
    for interceptor in all { message = try interceptor.intercept(request: message, context: context) }
    return message
  }

  func response<Message: ProtoMessage>(_ message: Message, _ context: CallContext) throws -> Message {
    var message = message
    for interceptor in all.reversed() { message = try interceptor.intercept(response: message, context: context) }
    return message
  }
}
