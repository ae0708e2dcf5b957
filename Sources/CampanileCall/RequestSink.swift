public import CampanileBase
public import CampanileCodec

/// The sending end of a streaming call's requests.
public struct RequestSink<Q: ProtoMessage>: Sendable {
  private let call: any StreamTransport

  /// A sink for a call that was started.
  public init(_ call: any StreamTransport) { self.call = call }

  /// Sends one request once the server has granted credit for it. The initial credit is 32 messages and 1 MiB.
  ///
  /// - Throws: The `RPCError` that ended the call, or CANCELLED `CALL_ENDED` if the server has already responded.
  public func send(_ request: Q) async throws(RPCError) {
    if let error = await call.send(request.jsonUTF8Bytes()) { throw error }
  }
}
