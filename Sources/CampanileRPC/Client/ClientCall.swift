public import CampanileBase

/// Receives the events of a call that was started on an event loop. Every method is called on that loop.
///
/// The bytes are JSON whose structure was checked; they are valid only until the method returns. Exactly one of
/// `callFinished` and `callFailed` is called, once and last. If the call is cancelled through its `ClientCall`, neither
/// is called.
public protocol ClientCallHandler: AnyObject {
  /// Delivers one message of the response stream, within the credit that was announced and granted.
  ///
  /// - Parameter sizeBytes: The number of bytes that it took of the server's credit. Once the message is consumed,
  ///   grant them again; see `ConsumedCredit`.
  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int)
  /// Delivers the response's `result`.
  func callFinished(result: UnsafeRawBufferPointer)
  /// Reports that the call failed. `rawError` is the response's `error` object unchanged, `nil` if the client itself
  /// failed the call.
  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?)
  /// Reports more credit to send. It is zero if the call had credit, but the connection's buffer was full or its own
  /// credit used up, and messages may be sent again.
  func callCredit(_ credit: StreamCredit)
}

/// The parameters of a call except its message.
public struct CallHead: Sendable {
  /// The full method name, with a slash between service and method.
  public var method: String
  public var kind: CallKind
  /// The call's deadline; `nil` only for streams.
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

/// A started call. Use it on the event loop that started it; operations on a call that has ended have no effect.
public struct ClientCall {
  let call: OpenClientCall?

  /// The credit for messages to send. It is zero while the connection accepts none.
  public var sendCredit: StreamCredit { call?.sendCredit ?? .zero }
  /// The server's credit for messages to this client.
  public var receiveCredit: StreamCredit { call?.receiveCredit ?? .zero }
  /// Whether the call has not ended yet.
  public var isOpen: Bool { call.map { $0.phase != .ended } ?? false }

  /// Sends one message of the request stream.
  ///
  /// - Parameter message: The bytes of a JSON value whose structure was checked.
  /// - Returns: False, and nothing is sent, if there is no credit, the requests were ended or the call has ended.
  @discardableResult
  public func send(message: UnsafeRawBufferPointer) -> Bool { call?.send(message: message) ?? false }

  /// Ends the request stream.
  public func halfClose() { call?.halfClose() }

  /// Cancels the call. Its handler is not called again.
  public func cancel() { call?.cancel() }

  /// Grants the server credit for further messages, up to the maximum of a credit. Grant several at once: a grant of
  /// fewer than 4 messages and fewer than 16 KiB counts as a control frame.
  public func grantCredit(_ credit: StreamCredit) { call?.grantCredit(credit) }
}
