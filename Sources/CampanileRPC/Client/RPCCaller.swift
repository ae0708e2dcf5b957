public import CampanileCodec

/// Makes calls. Generated clients are written on it; `RPCClient` is the one that speaks the wire.
///
/// Every failure is an `RPCError`. Cancelling the task that waits cancels the call.
public protocol RPCCaller: Sendable {
  /// One request, one response.
  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R

  /// One request, many responses. The call is started at once; letting go of the stream cancels it.
  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R>

  /// Many requests, one response. The requests end when `requests` returns; when it throws, the call is cancelled.
  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R

  /// Many requests, many responses, in any order. As for the requests, see `clientStreaming`.
  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R>
}
