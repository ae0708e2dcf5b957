public import CampanileBase
public import CampanileCodec

/// The sending end of a streaming call's requests.
public struct RequestSink<Q: ProtoMessage>: Sendable {
  private let call: any StreamTransport
  private var interceptor: (@Sendable (Q) throws(RPCError) -> Q)?

  /// A sink for a call that was started.
  public init(_ call: any StreamTransport) { self.call = call }

  /// Returns the sink with `outer` applied to each request, before the interceptor that it may have.
  func intercepted(_ outer: @escaping @Sendable (Q) throws(RPCError) -> Q) -> RequestSink {
    var intercepted = self
    if let interceptor {
      intercepted.interceptor = { request throws(RPCError) in try interceptor(outer(request)) }
    } else {
      intercepted.interceptor = outer
    }
    return intercepted
  }

  /// Sends one request once the server has granted credit for it. The initial credit is 32 messages and 1 MiB.
  ///
  /// - Throws: The `RPCError` that ended the call, or CANCELLED `CALL_ENDED` if the server has already responded.
  public func send(_ request: Q) async throws(RPCError) {
    let bytes = try interceptor?(request).jsonUTF8Bytes() ?? request.jsonUTF8Bytes()
    if let error = await call.send(bytes) { throw error }
  }
}
