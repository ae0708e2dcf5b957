/// Hears what becomes of a call that was started on an event loop. Every method is called on that loop.
///
/// The bytes are JSON whose structure was checked, and are valid during the call of the method only. Exactly one of
/// `callFinished` and `callFailed` is called, once and last, unless the call is cancelled through its `ClientCall`: then
/// neither is.
public protocol ClientCallHandler: AnyObject {
  /// One message of the response stream. Never more often than credit was granted, which starts at 32.
  func callReceived(message: UnsafeRawBufferPointer)
  /// The response's `result`.
  func callFinished(result: UnsafeRawBufferPointer)
  /// The call has failed. `rawError` is the response's `error` object as it came, `nil` when the client itself failed the call.
  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?)
  /// The server takes `messages` more; 0 says that the connection, which was full, can be written again.
  func callCredit(messages: Int)
}

/// What a call is started with, beside its message.
public struct CallHead: Sendable {
  /// The full name of the method with a slash.
  public var method: String
  public var kind: CallKind
  /// When the call's time is up. `nil` only for streams.
  public var deadline: Deadline?
  public var metadata: Metadata
  /// See `CallOptions.waitForReady`.
  public var waitForReady: Bool

  public init(
    method: String, kind: CallKind, deadline: Deadline?, metadata: Metadata = [:], waitForReady: Bool = true
  ) {
    self.method = method
    self.kind = kind
    self.deadline = deadline
    self.metadata = metadata
    self.waitForReady = waitForReady
  }
}

/// A started call. Used on the event loop that it was started on; a call that has ended ignores everything.
public struct ClientCall {
  let call: OpenClientCall?

  /// Messages that may be sent before the server grants more. Starts at 32.
  public var sendCredit: Int { call?.sendCredit ?? 0 }
  /// Whether neither a response nor a failure has ended the call.
  public var isOpen: Bool { call.map { $0.phase != .ended } ?? false }

  /// Sends one message of the request stream: the bytes of a JSON value whose structure was checked.
  ///
  /// Answers false, and sends nothing, when there is no credit left, the requests were ended or the call has ended.
  @discardableResult
  public func send(message: UnsafeRawBufferPointer) -> Bool { call?.send(message: message) ?? false }

  /// Says that no more requests follow.
  public func halfClose() { call?.halfClose() }

  /// Ends the call. Its handler hears nothing more.
  public func cancel() { call?.cancel() }

  /// Lets the server send `messages` (1 to 2^31) more. Grant several at once: less than 4 count as control frames.
  public func grantCredit(_ messages: Int) { call?.grantCredit(messages) }
}
