/// Serves the calls of a server's connections.
///
/// The layer below typed handlers: a gateway implements it to forward calls without decoding them.
public protocol CallDispatcher: Sendable {
  /// Called on the connection's event loop. `params` are the bytes of an object, or empty; they are valid during this call
  /// only. The dispatcher answers by the call's methods, now or later, and then always calls `handlerEnded`.
  func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer)
}

/// Receives what a caller sends after it opened a call. Every method is called on the connection's event loop.
public protocol ServerCallHandler: AnyObject {
  /// One message of the caller's stream, valid during this call only.
  func receive(message: UnsafeRawBufferPointer)
  /// The caller will send no more messages.
  func halfClosed()
  /// The call was answered without the handler: cancelled, too late, or its connection is gone.
  func cancelled(_ error: RPCError)
  /// The caller takes more messages, or the connection can be written to again.
  func canSend()
  /// What it knows of the call for log lines; `nil` when that is no more than the call itself does.
  var facts: CallFacts? { get }
  /// Parts of the call's duration that it knows beside those of all calls, in milliseconds.
  var partsMs: [String: Double] { get }
  /// What it adds to the span of a call that is traced.
  var spanAttributes: [FinishedSpan.Attribute] { get }
}

extension ServerCallHandler {
  public var facts: CallFacts? { nil }
  public var partsMs: [String: Double] { [:] }
  public var spanAttributes: [FinishedSpan.Attribute] { [] }
}
