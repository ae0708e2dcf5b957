public import CampanileBase
public import CampanileCodec

/// The sending end of a streaming call's requests.
public struct RequestSink<Q: ProtoMessage>: Sendable {
  let call: StreamCall

  /// Sends one request once the server has granted credit for it. The initial credit is 32 messages.
  ///
  /// - Throws: The `RPCError` that ended the call, or CANCELLED `CALL_ENDED` if the server has already responded.
  public func send(_ request: Q) async throws(RPCError) {
    if let error = await call.send(Reply.encode(request)) { throw error }
  }
}

/// The sending end of a streaming call's requests in JSON.
public struct RawRequestSink: Sendable {
  let call: StreamCall

  /// Sends one request as `RequestSink.send` does. Throws INVALID_ARGUMENT `MESSAGE_NOT_JSON` if it is not a JSON
  /// object.
  public func send(_ requestJSON: [UInt8]) async throws(RPCError) {
    try Reply.checkObject(requestJSON)
    if let error = await call.send(requestJSON) { throw error }
  }
}
