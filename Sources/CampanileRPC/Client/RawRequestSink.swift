public import CampanileBase

/// The sending end of a streaming call's requests in JSON.
public struct RawRequestSink: Sendable {
  let call: StreamCall

  /// Sends one request as `RequestSink.send` does. Throws INVALID_ARGUMENT `MESSAGE_NOT_JSON` if it is not a JSON
  /// object.
  public func send(_ requestJSON: [UInt8]) async throws(RPCError) {
    try RequestJSON.checkObject(requestJSON)
    if let error = await call.send(requestJSON) { throw error }
  }
}
