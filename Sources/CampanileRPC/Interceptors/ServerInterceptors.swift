import CampanileCodec

/// The interceptors of a server, in order; at least one.
struct ServerInterceptors: Sendable {
  let all: [any ServerInterceptor]

  private func request<Message: ProtoMessage>(_ message: Message, _ context: CallContext) throws -> Message {
    var message = message
    for interceptor in all { message = try interceptor.intercept(request: message, context: context) }
    return message
  }

  private func response<Message: ProtoMessage>(_ message: Message, _ context: CallContext) throws -> Message {
    var message = message
    for interceptor in all.reversed() { message = try interceptor.intercept(response: message, context: context) }
    return message
  }

  // MARK: handlers

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (Q, CallContext) async throws -> R
  ) -> InterceptedMethod<Q, R> {
    InterceptedMethod(all, request, handler, response)
  }

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void
  ) -> @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void {
    let method = InterceptedMethod<(Q, ResponseSink<R>), Void>(all) { input, context in
      (try request(input.0, context), input.1.intercepted { message in try response(message, context) })
    } _: { input, context in
      try await handler(input.0, context, input.1)
    }
    return { message, context, sink in try await method.call((message, sink)).begin(context) }
  }

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext) async throws -> R
  ) -> @Sendable (RequestStream<Q>, CallContext) async throws -> R {
    let method = InterceptedMethod<RequestStream<Q>, R>(
      all,
      { stream, context in
        stream.intercepted { message in try request(message, context) }
      }, handler, response)
    return { stream, context in try await method.call(stream).begin(context) }
  }

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void
  ) -> @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void {
    let method = InterceptedMethod<(RequestStream<Q>, ResponseSink<R>), Void>(all) { input, context in
      (
        input.0.intercepted { message in try request(message, context) },
        input.1.intercepted { message in try response(message, context) }
      )
    } _: { input, context in
      try await handler(input.0, context, input.1)
    }
    return { stream, context, sink in try await method.call((stream, sink)).begin(context) }
  }
}
