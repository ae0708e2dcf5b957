import CampanileCodec

/// The interceptors of a server, in order; at least one.
struct ServerInterceptors: Sendable {
  let all: [any ServerInterceptor]

  @inline(__always)
  private func run<Response: Sendable>(
    _ context: CallContext, _ handler: @escaping @Sendable (CallContext) async throws -> Response
  ) async throws -> Response {
    try await all[0].intercept(context, next: NextHandler(interceptors: all.dropFirst(), handler: handler))
  }

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
  ) -> @Sendable (Q, CallContext) async throws -> R {
    { message, context in
      try await run(context) { context in
        try response(await handler(request(message, context), context), context)
      }
    }
  }

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void
  ) -> @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void {
    { message, context, sink in
      try await run(context) { context in
        let sink = sink.intercepted { message in try response(message, context) }
        try await handler(request(message, context), context, sink)
      }
    }
  }

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext) async throws -> R
  ) -> @Sendable (RequestStream<Q>, CallContext) async throws -> R {
    { stream, context in
      try await run(context) { context in
        let stream = stream.intercepted { message in try request(message, context) }
        return try response(await handler(stream, context), context)
      }
    }
  }

  func wrap<Q: ProtoMessage, R: ProtoMessage>(
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void
  ) -> @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void {
    { stream, context, sink in
      try await run(context) { context in
        let sink = sink.intercepted { message in try response(message, context) }
        try await handler(stream.intercepted { message in try request(message, context) }, context, sink)
      }
    }
  }
}
