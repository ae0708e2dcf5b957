import CampanileBase
import CampanileCodec

/// Makes calls that pass interceptors first.
struct InterceptedCaller: RPCCaller {
  let caller: any RPCCaller
  /// At least one.
  let interceptors: [any ClientInterceptor]

  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R {
    try await InterceptedUnaryCall(self, request).run(OutgoingCall(method: method, options: options))
  }

  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R {
    try await InterceptedClientStream(self, requests).run(OutgoingCall(method: method, options: options))
  }

  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> {
    stream(OutgoingCall(method: method, options: options)) { stream, call in
      try stream.caller.serverStreaming(
        call.method, stream.request(request, call), options: stream.remaining(call))
    }
  }

  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    stream(OutgoingCall(method: method, options: options)) { stream, call in
      stream.caller.bidirectional(
        call.method, options: stream.remaining(call), requests: stream.intercepted(requests, call))
    }
  }

  private func stream<R: ProtoMessage>(
    _ call: OutgoingCall, _ open: @escaping InterceptedStream<R>.Open
  ) -> ResponseStream<R> {
    let stream = InterceptedStream(self, open)
    stream.begin(call)
    return ResponseStream(stream) { message throws(RPCError) in try stream.received(message) }
  }
}
