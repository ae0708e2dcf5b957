public import CampanileBase

/// The part of a client that carries one streaming call: the source of its responses, the destination of its requests.
///
/// `ResponseStream` and `RequestSink` encode and decode its messages. `CampanileRPC` implements it over the wire
/// protocol.
public protocol StreamTransport: AnyObject, Sendable {
  /// Returns the next response or the end of the call, which may be read repeatedly.
  ///
  /// One task at a time may wait. Cancelling it cancels the call.
  func next() async -> StreamEvent

  /// Sends one request, in JSON, once the server has granted credit for it.
  ///
  /// - Returns: The reason why it was not sent; `nil` if it was.
  func send(_ message: [UInt8]) async -> RPCError?

  /// Cancels the call from any thread, and ends its responses with `error`. No effect if the call has ended.
  func cancel(_ error: RPCError)
}

/// An event of a streaming call, as its reader receives it.
public enum StreamEvent: Sendable {
  /// One response of the stream, in JSON.
  case message([UInt8])
  /// The successful end, with the response in JSON if the method has a single one, otherwise empty.
  case finished([UInt8])
  case failed(RPCError)
}
