import CampanileBase
import CampanileCodec

/// A call that passes the interceptors of a client, without the type of its request.
///
/// A class, because a unary call then allocates nothing else for its interceptors. A closure would be one more function
/// that waits, and a block of a task's memory holds few of them.
class InterceptedCall<Response: Sendable>: @unchecked Sendable {
  // `@unchecked`: subclasses have constants of `Sendable` types only, or say why their variables are safe.
  /// At least one.
  final let interceptors: [any ClientInterceptor]
  final let caller: any RPCCaller
  private let begun = ContinuousClock.now

  init(_ intercepted: InterceptedCaller) {
    interceptors = intercepted.interceptors
    caller = intercepted.caller
  }

  /// Makes the call as the interceptors changed it.
  func make(_ call: OutgoingCall) async throws -> Response { throw CancellationError() }

  /// Runs the interceptors, which make the call.
  final func run(_ call: OutgoingCall) async throws(RPCError) -> Response {
    do {
      return try await interceptors[0].intercept(call, next: NextCall(inner: self, index: 1))
    } catch {
      throw Self.failure(error)
    }
  }

  /// Returns `requests` with a sink that passes each message through the interceptors.
  final func intercepted<Q: ProtoMessage>(
    _ requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void, _ call: OutgoingCall
  ) -> @Sendable (RequestSink<Q>) async throws -> Void {
    { sink in
      try await requests(sink.intercepted { message throws(RPCError) in try self.request(message, call) })
    }
  }

  // Functions of their own, so that what they need is not part of the frames that wait for the response.

  /// Returns the options of a call with the time limit that is left.
  @inline(never)
  final func remaining(_ call: OutgoingCall) -> CallOptions {
    var options = call.options
    if let timeoutMs = options.timeoutMs {
      let passedMs = Int64((ContinuousClock.now - begun) / .milliseconds(1))
      options.timeoutMs = max(0, timeoutMs - passedMs)
    }
    return options
  }

  @inline(never)
  final func request<Message: ProtoMessage>(_ message: Message, _ call: OutgoingCall) throws(RPCError) -> Message {
    var message = message
    for interceptor in interceptors { message = try interceptor.intercept(request: message, of: call) }
    return message
  }

  @inline(never)
  final func response<Message: ProtoMessage>(_ message: Message, _ call: OutgoingCall) throws(RPCError) -> Message {
    var message = message
    for interceptor in interceptors.reversed() { message = try interceptor.intercept(response: message, of: call) }
    return message
  }

  @inline(never)
  private static func failure(_ error: any Error) -> RPCError {
    switch error {
    case let error as RPCError: error
    case let error as any RPCErrorConvertible: error.rpcError
    case is CancellationError: LocalFailure.cancelled()
    default: RPCError(.unknown, "an interceptor of the client failed: \(error)", reason: "INTERCEPTOR_FAILED")
    }
  }
}

final class InterceptedUnaryCall<Q: ProtoMessage, R: ProtoMessage>: InterceptedCall<R>, @unchecked Sendable {
  private let message: Q

  init(_ intercepted: InterceptedCaller, _ message: Q) {
    self.message = message
    super.init(intercepted)
  }

  override func make(_ call: OutgoingCall) async throws -> R {
    try response(await caller.unary(call.method, request(message, call), options: remaining(call)), call)
  }
}

final class InterceptedClientStream<Q: ProtoMessage, R: ProtoMessage>: InterceptedCall<R>, @unchecked Sendable {
  private let requests: @Sendable (RequestSink<Q>) async throws -> Void

  init(_ intercepted: InterceptedCaller, _ requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void) {
    self.requests = requests
    super.init(intercepted)
  }

  override func make(_ call: OutgoingCall) async throws -> R {
    let requests = intercepted(requests, call)
    let reply: R = try await caller.clientStreaming(call.method, options: remaining(call), requests: requests)
    return try response(reply, call)
  }
}
