public import CampanileBase

/// Serves the calls of a server's connections.
///
/// The layer below typed handlers: a gateway implements it to forward calls without decoding them.
public protocol CallDispatcher: Sendable {
  /// Starts a call, on the connection's event loop. The dispatcher responds through the call's methods, now or later,
  /// and then always calls `handlerEnded`.
  ///
  /// - Parameter params: The bytes of an object, or empty; valid until this method returns.
  func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer)

  /// Decides by the head of a long frame whether its call is refused, before the rest of the frame is buffered. Called
  /// on the connection's event loop. Must not count the call: a call that is not refused is started once its frame is
  /// complete.
  ///
  /// - Returns: Whether the call is certain to be refused, with the refusal stored in its `admission`. The call is then
  ///   started at once, without params.
  func refuses(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Bool
}

extension CallDispatcher {
  public func refuses(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Bool { false }
}

/// Receives the caller's events after the start of a call. Every method is called on the connection's event loop.
public protocol ServerCallHandler: AnyObject {
  /// Delivers one message of the caller's stream; its bytes are valid until the method returns.
  ///
  /// - Parameter sizeBytes: The number of bytes that it took of the caller's credit. Once the message is consumed,
  ///   grant them again; see `ConsumedCredit`.
  func receive(message: UnsafeRawBufferPointer, sizeBytes: Int)
  /// Reports that the caller will send no more messages.
  func halfClosed()
  /// Reports that the call ended without the handler: it was cancelled, its deadline passed, or its connection was
  /// closed.
  func cancelled(_ error: RPCError)
  /// Reports that the caller granted credit, or that the connection is writable again.
  func canSend()
  /// The handler's facts about the call for log lines; `nil` if it knows no more than the call itself.
  var record: CallRecord? { get }
  /// Additional phases of the call's duration, in milliseconds, by name.
  var partsMs: [String: Double] { get }
  /// Additional attributes for the span of a traced call.
  var spanAttributes: [FinishedSpan.Attribute] { get }
}

extension ServerCallHandler {
  public var record: CallRecord? { nil }
  public var partsMs: [String: Double] { [:] }
  public var spanAttributes: [FinishedSpan.Attribute] { [] }
}
