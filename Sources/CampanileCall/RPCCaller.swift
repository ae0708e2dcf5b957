public import CampanileCodec

/// Makes calls. Generated clients use this protocol; `RPCClient` implements it over the wire protocol.
///
/// Every failure is an `RPCError`. Cancelling the waiting task cancels the call.
public protocol RPCCaller: Sendable {
  /// Sends one request and returns its response.
  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R

  /// Sends one request and returns a stream of responses. The call starts at once; releasing the stream cancels it.
  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R>

  /// Sends a stream of requests and returns one response. The request stream ends when `requests` returns; if it
  /// throws, the call is cancelled.
  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R

  /// Sends a stream of requests and returns a stream of responses, in any order. `requests` behaves as in
  /// `clientStreaming`.
  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R>
}
