import CampanileCodec

/// The call of a handler behind a server's interceptors, without the types of its requests.
///
/// A class, because a call then allocates nothing else for its interceptors. A closure would be one more function that
/// waits, and a block of a task's memory holds few of them.
class InterceptedHandler<Response: Sendable>: InterceptedMessages, @unchecked Sendable {
  // `@unchecked`: subclasses have constants of `Sendable` types only.

  /// Runs the interceptors, which run the handler.
  @inline(__always)
  final func begin(_ context: CallContext) async throws -> Response {
    try await interceptors.first.intercept(context, next: NextHandler(handler: self, index: 1))
  }

  /// Passes the messages through the interceptors, and runs the handler.
  func run(_ context: CallContext) async throws -> Response { throw CancellationError() }
}

final class InterceptedUnaryHandler<Q: ProtoMessage, R: ProtoMessage>: InterceptedHandler<R>, @unchecked Sendable {
  private let handler: @Sendable (Q, CallContext) async throws -> R
  private let request: Q

  init(
    _ interceptors: ServerInterceptors, _ handler: @escaping @Sendable (Q, CallContext) async throws -> R, _ request: Q
  ) {
    self.handler = handler
    self.request = request
    super.init(interceptors)
  }

  override func run(_ context: CallContext) async throws -> R {
    try await finish(handler(prepare(context), context), context)
  }

  // Functions of their own, so that what they need is not part of the frame that waits for the handler.
  @inline(never)
  private func prepare(_ context: CallContext) throws -> Q { try interceptors.request(request, context) }
  @inline(never)
  private func finish(_ response: R, _ context: CallContext) throws -> R {
    try interceptors.response(response, context)
  }
}

final class InterceptedServerStreamHandler<Q: ProtoMessage, R: ProtoMessage>: InterceptedHandler<Void>,
  @unchecked Sendable
{
  private let handler: @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void
  private let request: Q
  private let sink: ResponseSink<R>

  init(
    _ interceptors: ServerInterceptors,
    _ handler: @escaping @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void, _ request: Q,
    _ sink: ResponseSink<R>
  ) {
    self.handler = handler
    self.request = request
    self.sink = sink
    super.init(interceptors)
  }

  override func run(_ context: CallContext) async throws {
    try await handler(prepare(context), context, sink.intercepted(self))
  }

  @inline(never)
  private func prepare(_ context: CallContext) throws -> Q {
    try beginStream(context)
    return try interceptors.request(request, context)
  }
}

final class InterceptedClientStreamHandler<Q: ProtoMessage, R: ProtoMessage>: InterceptedHandler<R>,
  @unchecked Sendable
{
  private let handler: @Sendable (RequestStream<Q>, CallContext) async throws -> R
  private let requests: RequestStream<Q>

  init(
    _ interceptors: ServerInterceptors,
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext) async throws -> R, _ requests: RequestStream<Q>
  ) {
    self.handler = handler
    self.requests = requests
    super.init(interceptors)
  }

  override func run(_ context: CallContext) async throws -> R {
    try beginStream(context)
    return try await finish(handler(requests.intercepted(self), context), context)
  }

  @inline(never)
  private func finish(_ response: R, _ context: CallContext) throws -> R {
    try interceptors.response(response, context)
  }
}

final class InterceptedBidirectionalHandler<Q: ProtoMessage, R: ProtoMessage>: InterceptedHandler<Void>,
  @unchecked Sendable
{
  private let handler: @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void
  private let requests: RequestStream<Q>
  private let sink: ResponseSink<R>

  init(
    _ interceptors: ServerInterceptors,
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void,
    _ requests: RequestStream<Q>, _ sink: ResponseSink<R>
  ) {
    self.handler = handler
    self.requests = requests
    self.sink = sink
    super.init(interceptors)
  }

  override func run(_ context: CallContext) async throws {
    try beginStream(context)
    try await handler(requests.intercepted(self), context, sink.intercepted(self))
  }
}
