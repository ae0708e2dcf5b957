public import CampanileBase
public import CampanileCodec

/// The method and the options of a call that a client makes.
public struct OutgoingCall: Sendable {
  public let method: MethodDescriptor
  /// The options, whose time limit counts from the beginning of the call, before its interceptors.
  public var options: CallOptions

  public init(method: MethodDescriptor, options: CallOptions = CallOptions()) {
    self.method = method
    self.options = options
  }
}

/// Wraps the calls of a client: checks, changes or observes them. `RPCCaller.intercepted(by:)` adds interceptors.
///
/// A call passes the interceptors in their order, and its outcome returns in reverse. Interceptors see a call once,
/// whatever the number of attempts. An error other than `RPCError` reaches the caller as UNKNOWN `INTERCEPTOR_FAILED`.
/// Every method has a default implementation that changes nothing.
public protocol ClientInterceptor: Sendable {
  /// Wraps a call of any kind, until its response, or the last one of its stream, has been read.
  ///
  /// Throw instead of calling `next` to refuse the call. Pass `next` changed options to change metadata or time limit.
  /// The time limit does not end what the interceptor itself does. If the caller cancels the call, the task is
  /// cancelled.
  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response

  /// Returns a message for the server: the request, or each message of the request stream.
  ///
  /// `jsonUTF8Bytes()` of the message returns its JSON.
  func intercept<Message: ProtoMessage>(request: Message, of call: OutgoingCall) throws(RPCError) -> Message

  /// Returns a message of the server for the caller: the response, or each message of the response stream. A thrown
  /// error cancels a stream.
  func intercept<Message: ProtoMessage>(response: Message, of call: OutgoingCall) throws(RPCError) -> Message
}

extension ClientInterceptor {
  public func intercept<Response: Sendable>(
    _ call: OutgoingCall, next: NextCall<Response>
  ) async throws -> Response { try await next(call) }
  public func intercept<Message: ProtoMessage>(
    request: Message, of call: OutgoingCall
  ) throws(RPCError) -> Message { request }
  public func intercept<Message: ProtoMessage>(
    response: Message, of call: OutgoingCall
  ) throws(RPCError) -> Message { response }
}

/// The rest of an intercepted call: the interceptors that follow, and the call itself. A structure for the same reason
/// as `NextHandler`.
public struct NextCall<Response: Sendable>: Sendable {
  let inner: InterceptedCall<Response>
  /// The position of the next interceptor.
  let index: Int

  /// Continues the call, with the method and the options of `call`. Returns its response: for a response stream, `Void`
  /// once the last response has been read.
  ///
  /// A call with one response may be repeated. A stream that was continued before throws UNKNOWN `INTERCEPTOR_FAILED`.
  public func callAsFunction(_ call: OutgoingCall) async throws -> Response {
    if index == inner.interceptors.count { return try await inner.make(call) }
    return try await intercepted(call)
  }

  /// A function of its own, because its frame is larger than that of the call itself.
  @inline(never)
  private func intercepted(_ call: OutgoingCall) async throws -> Response {
    try await inner.interceptors[index].intercept(call, next: NextCall(inner: inner, index: index + 1))
  }
}

extension RPCCaller {
  /// Returns a caller whose calls pass `interceptors`, the first one outermost, before this caller makes them.
  ///
  /// Pass it to a generated client. Calls in unparsed JSON are methods of `RPCClient` and have no interceptors.
  public func intercepted(by interceptors: [any ClientInterceptor]) -> any RPCCaller {
    guard !interceptors.isEmpty else { return self }
    if let inner = self as? InterceptedCaller {
      return InterceptedCaller(caller: inner.caller, interceptors: interceptors + inner.interceptors)
    }
    return InterceptedCaller(caller: self, interceptors: interceptors)
  }
}
