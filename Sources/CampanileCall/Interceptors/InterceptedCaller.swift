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
    InterceptedServerStream(self, OutgoingCall(method: method, options: options), request).begin()
  }

  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    InterceptedBidirectionalStream(self, OutgoingCall(method: method, options: options), requests).begin()
  }
}
