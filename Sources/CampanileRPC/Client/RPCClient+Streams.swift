public import CampanileBase
public import CampanileCodec

extension RPCClient {
  public func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions = CallOptions()
  ) -> ResponseStream<R> {
    let call = makeStream(
      method.path, .serverStreaming, params: request.jsonUTF8Bytes(), options,
      allowsRetry: method.idempotency.allowsRetry)
    call.start()
    return ResponseStream(call)
  }

  public func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions = CallOptions(),
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R {
    let call = makeStream(method.path, .clientStreaming, options)
    call.start { try await requests(RequestSink(call)) }
    return try R(responseJSON: try await result(of: call))
  }

  public func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions = CallOptions(),
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    let call = makeStream(method.path, .bidirectional, options)
    call.start { try await requests(RequestSink(call)) }
    return ResponseStream(call)
  }

  // MARK: - unparsed JSON

  /// Makes a server-streaming call in JSON. Throws INVALID_ARGUMENT `MESSAGE_NOT_JSON` unless `paramsJSON` is an
  /// object, or empty for no parameters.
  public func rawServerStreaming(
    method: String, paramsJSON: [UInt8], idempotency: Idempotency = .unknown, options: CallOptions = CallOptions()
  ) throws(RPCError) -> RawResponseStream {
    try RequestJSON.checkObject(paramsJSON)
    let call = makeStream(
      method, .serverStreaming, params: paramsJSON, options, allowsRetry: idempotency.allowsRetry)
    call.start()
    return RawResponseStream(call)
  }

  /// Makes a client-streaming call in JSON and returns the response's JSON; see `clientStreaming`.
  public func rawClientStreaming(
    method: String, options: CallOptions = CallOptions(),
    requests: @escaping @Sendable (RawRequestSink) async throws -> Void
  ) async throws(RPCError) -> [UInt8] {
    let call = makeStream(method, .clientStreaming, options)
    call.start { try await requests(RawRequestSink(call: call)) }
    return try await result(of: call)
  }

  public func rawBidirectional(
    method: String, options: CallOptions = CallOptions(),
    requests: @escaping @Sendable (RawRequestSink) async throws -> Void
  ) -> RawResponseStream {
    let call = makeStream(method, .bidirectional, options)
    call.start { try await requests(RawRequestSink(call: call)) }
    return RawResponseStream(call)
  }

  private func makeStream(
    _ method: String, _ kind: CallKind, params: [UInt8] = [], _ options: CallOptions, allowsRetry: Bool = false
  ) -> StreamCall {
    let head = CallHead(
      method: method, kind: kind, deadline: deadline(options, kind: kind, now: now),
      metadata: CallScope.outgoing(options.metadata), waitForReady: options.waitForReady)
    return StreamCall(
      owner: target().client, head: head, params: params, options: options, allowsRetry: allowsRetry)
  }

  /// Returns the response of a client-streaming call.
  private func result(of call: StreamCall) async throws(RPCError) -> [UInt8] {
    switch await call.next() {
    case .finished(let bytes): return bytes
    case .failed(let error): throw error
    case .message:
      let error = LocalFailure.peerMalformed("a message for a call without a response stream")
      call.cancel(error)
      throw error
    }
  }
}
