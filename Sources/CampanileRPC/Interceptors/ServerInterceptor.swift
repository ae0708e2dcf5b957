public import CampanileCodec

/// Wraps the calls that a server's handlers serve: checks, changes or observes them.
///
/// A call passes the interceptors in their order, and its outcome returns in reverse. They run in the handler's task:
/// a cancellation and the deadline reach them, and their task-local values reach the handler. A thrown error ends the
/// call as an error of the handler would; see `MethodRegistry`.
///
/// Interceptors see calls whose method is known and whose request could be decoded. They do not see calls that a
/// gateway forwards. Every method has a default implementation that changes nothing.
public protocol ServerInterceptor: Sendable {
  /// Wraps a call of any kind, until its handler has returned.
  ///
  /// Throw instead of calling `next` to refuse the call. Pass `next` a changed context to change the handler's
  /// metadata, principal or deadline; a changed deadline is information only.
  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response

  /// Returns a message of the caller for the handler: the request, or each message of the request stream.
  ///
  /// The context is the one that the handler receives. `jsonUTF8Bytes()` of the message returns its JSON.
  func intercept<Message: ProtoMessage>(request: Message, context: CallContext) throws -> Message

  /// Returns a message of the handler for the caller: the response, or each message of the response stream.
  func intercept<Message: ProtoMessage>(response: Message, context: CallContext) throws -> Message
}

extension ServerInterceptor {
  public func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response { try await next(context) }
  public func intercept<Message: ProtoMessage>(request: Message, context: CallContext) throws -> Message { request }
  public func intercept<Message: ProtoMessage>(response: Message, context: CallContext) throws -> Message { response }
}

/// The rest of an intercepted call: the interceptors that follow, and the handler.
///
/// A structure instead of a function, because the types of functions differ between modules with and without the
/// upcoming feature `NonisolatedNonsendingByDefault`.
public struct NextHandler<Response: Sendable>: Sendable {
  let handler: InterceptedHandler<Response>
  /// The position of the next interceptor.
  let index: Int

  /// Continues the call and returns the handler's response: for a response stream, `Void` at its end. Call it at most
  /// once; a stream that was continued before throws INTERNAL `INTERCEPTOR_FAILED`.
  public func callAsFunction(_ context: CallContext) async throws -> Response {
    if index == handler.interceptors.all.count { return try await handler.run(context) }
    return try await intercepted(context)
  }

  /// A function of its own, because its frame is twice as large as that of a call of the handler.
  @inline(never)
  private func intercepted(_ context: CallContext) async throws -> Response {
    try await handler.interceptors.all[index].intercept(context, next: NextHandler(handler: handler, index: index + 1))
  }
}
