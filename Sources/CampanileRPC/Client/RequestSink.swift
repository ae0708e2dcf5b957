public import CampanileCodec

/// Takes the requests of a streaming call.
public struct RequestSink<Q: ProtoMessage>: Sendable {
  let call: StreamCall

  /// Sends one request, after waiting until the server takes it (32 may be ahead of it). Throws the `RPCError` that ended the
  /// call, or CANCELLED `CALL_ENDED` when the server has answered already.
  public func send(_ request: Q) async throws(RPCError) {
    if let error = await call.send(Reply.encode(request)) { throw error }
  }
}

/// The same for requests in JSON as it stands.
public struct RawRequestSink: Sendable {
  let call: StreamCall

  /// As `RequestSink.send`; INVALID_ARGUMENT `MESSAGE_NOT_JSON` for what is no JSON object.
  public func send(_ requestJSON: [UInt8]) async throws(RPCError) {
    try Reply.checkObject(requestJSON)
    if let error = await call.send(requestJSON) { throw error }
  }
}
