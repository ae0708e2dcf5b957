import CampanileBase
import CampanileCodec

/// Makes calls that pass interceptors first.
struct InterceptedCaller: RPCCaller {
  let caller: any RPCCaller
  let interceptors: [any ClientInterceptor]

  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R {
    try await run(OutgoingCall(method: method, options: options)) { [caller] call, remaining in
      let reply: R = try await caller.unary(method, self.request(request, call), options: remaining)
      return try response(reply, call)
    }
  }

  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R {
    try await run(OutgoingCall(method: method, options: options)) { [caller] call, remaining in
      let reply: R = try await caller.clientStreaming(
        method, options: remaining, requests: intercepted(requests, call))
      return try response(reply, call)
    }
  }

  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> {
    stream(OutgoingCall(method: method, options: options)) { [caller] call, remaining in
      try caller.serverStreaming(method, self.request(request, call), options: remaining)
    }
  }

  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    stream(OutgoingCall(method: method, options: options)) { [caller] call, remaining in
      caller.bidirectional(method, options: remaining, requests: intercepted(requests, call))
    }
  }

  // MARK: - calls

  /// Runs the interceptors and then `make`, which receives the call as they changed it, and its options with the time
  /// limit that is left.
  private func run<Response: Sendable>(
    _ call: OutgoingCall, _ make: @escaping @Sendable (OutgoingCall, CallOptions) async throws -> Response
  ) async throws(RPCError) -> Response {
    let begun = ContinuousClock.now
    let next = NextCall(interceptors: interceptors[...]) { call in
      var remaining = call.options
      if let timeoutMs = remaining.timeoutMs {
        let passedMs = Int64((ContinuousClock.now - begun) / .milliseconds(1))
        remaining.timeoutMs = max(0, timeoutMs - passedMs)
      }
      return try await make(call, remaining)
    }
    do {
      return try await next(call)
    } catch let error as RPCError {
      throw error
    } catch let error as any RPCErrorConvertible {
      throw error.rpcError
    } catch is CancellationError {
      throw LocalFailure.cancelled()
    } catch {
      throw RPCError(.unknown, "an interceptor of the client failed: \(error)", reason: "INTERCEPTOR_FAILED")
    }
  }

  private func stream<R: ProtoMessage>(
    _ call: OutgoingCall, _ open: @escaping @Sendable (OutgoingCall, CallOptions) throws -> ResponseStream<R>
  ) -> ResponseStream<R> {
    let stream = InterceptedStream()
    stream.run { () async throws(RPCError) in
      try await run(call) { call, remaining in
        let inner = try open(call, remaining)
        try await stream.follow(inner.raw.owner, call)
      }
    }
    return ResponseStream(stream) { message throws(RPCError) in
      guard let call = stream.call else { return message }
      return try response(message, call)
    }
  }

  // MARK: - messages

  private func request<Message: ProtoMessage>(_ message: Message, _ call: OutgoingCall) throws(RPCError) -> Message {
    var message = message
    for interceptor in interceptors { message = try interceptor.intercept(request: message, of: call) }
    return message
  }

  private func response<Message: ProtoMessage>(_ message: Message, _ call: OutgoingCall) throws(RPCError) -> Message {
    var message = message
    for interceptor in interceptors.reversed() { message = try interceptor.intercept(response: message, of: call) }
    return message
  }

  private func intercepted<Q: ProtoMessage>(
    _ requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void, _ call: OutgoingCall
  ) -> @Sendable (RequestSink<Q>) async throws -> Void {
    { sink in
      try await requests(sink.intercepted { message throws(RPCError) in try request(message, call) })
    }
  }
}
