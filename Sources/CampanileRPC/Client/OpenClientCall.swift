import CampanileBase
internal import NIOCore

/// One call from start to end. Used on its event loop only.
final class OpenClientCall: DeadlineEntry {
  enum Phase { case waiting, open, ended }

  let kind: CallKind
  let deadline: Deadline?
  let owner: LoopClient
  private(set) var phase = Phase.waiting
  /// The request while the call waits for a connection.
  var request: WaitingRequest?
  private var handler: (any ClientCallHandler)?
  private var connection: ClientConnection?
  private var id: UInt64 = 0
  private var isHalfClosed = false
  /// Messages that were queued before the call was open, and that wait for credit.
  private var unsent: [[UInt8]] = []

  init(owner: LoopClient, kind: CallKind, deadline: Deadline?, handler: any ClientCallHandler) {
    self.owner = owner
    self.kind = kind
    self.deadline = deadline
    self.handler = handler
  }

  /// Records that the connection has opened the call.
  @inline(__always)
  func opened(_ connection: ClientConnection, id: UInt64) {
    self.connection = connection
    self.id = id
    phase = .open
    // For a call without a deadline, the timer limited only the wait for a connection.
    if deadline == nil { owner.context.remove(self) }
  }

  var sendCredit: StreamCredit {
    switch phase {
    case .waiting: kind.streamsRequests ? .initial.reduced(by: request?.messagesSize ?? .zero) : .zero
    case .open: unsent.isEmpty ? connection?.sendCredit(id) ?? .zero : .zero
    case .ended: .zero
    }
  }

  /// The server's credit.
  var receiveCredit: StreamCredit { phase == .open ? connection?.receiveCredit(id) ?? .zero : .zero }

  func send(message: UnsafeRawBufferPointer) -> Bool {
    guard kind.streamsRequests, !isHalfClosed else { return false }
    switch phase {
    case .waiting: return owner.keep(message, of: self)
    case .open: return unsent.isEmpty && connection?.send(message, id: id, of: self) == true
    case .ended: return false
    }
  }

  func halfClose() {
    guard kind.streamsRequests, !isHalfClosed, phase != .ended else { return }
    isHalfClosed = true
    if phase == .open, unsent.isEmpty { connection?.halfClose(id) }
  }

  /// Sends the messages that were queued while the call waited.
  func sendRetained(_ kept: WaitingRequest) {
    unsent = kept.messages
    sendUnsent()
    if isHalfClosed, phase == .open, unsent.isEmpty { connection?.halfClose(id) }
  }

  private func sendUnsent() {
    var sentCount = 0
    for message in unsent {
      guard phase == .open, message.withUnsafeBytes({ connection?.send($0, id: id, of: self) }) == true else { break }
      sentCount += 1
    }
    // A message that is too long has ended the call.
    if phase == .open { unsent.removeFirst(sentCount) }
  }

  func grantCredit(_ credit: StreamCredit) {
    if phase == .open { connection?.grantCredit(credit, id: id) }
  }

  func cancel() {
    guard phase != .ended else { return }
    leave(tellingServer: true)
    end()
  }

  override func deadlinePassed() {
    switch phase {
    case .waiting:
      owner.leftQueue(self)
      fail(owner.waitedTooLong(hasDeadline: deadline != nil), raw: nil)
    case .open:
      let handedOver = connection?.wasHandedOver(id) ?? true
      // A unary call's handler meets the same deadline at the server; a control frame would add nothing.
      leave(tellingServer: kind != .unary)
      fail(LocalFailure.deadlineExceeded(processed: handedOver), raw: nil)
    case .ended: break
    }
  }

  /// Fails the call for a reason that this side detected, and cancels it at the server.
  func abort(_ error: RPCError) {
    guard phase != .ended else { return }
    leave(tellingServer: true)
    fail(error, raw: nil)
  }

  private func leave(tellingServer: Bool) {
    if phase == .waiting { owner.leftQueue(self) } else { connection?.leave(id, tellingServer: tellingServer) }
  }

  // MARK: - events from the connection

  func received(_ message: UnsafeRawBufferPointer, sizeBytes: Int) {
    handler?.callReceived(message: message, sizeBytes: sizeBytes)
  }

  func credited(_ credit: StreamCredit) {
    if !unsent.isEmpty {
      sendUnsent()
      guard unsent.isEmpty, phase == .open else { return }
      if isHalfClosed { connection?.halfClose(id) }
    }
    handler?.callCredit(credit)
  }

  @inline(__always)
  func finish(_ result: UnsafeRawBufferPointer) {
    let handler = end()
    handler?.callFinished(result: result)
  }

  func fail(_ error: RPCError, raw: UnsafeRawBufferPointer?) {
    let handler = end()
    handler?.callFailed(error: error, rawError: raw)
  }

  @inline(__always) @discardableResult
  private func end() -> (any ClientCallHandler)? {
    guard phase != .ended else { return nil }
    phase = .ended
    owner.context.remove(self)
    connection = nil
    request = nil
    unsent = []
    let former = handler
    handler = nil
    return former
  }
}

/// A request that waits for a connection.
struct WaitingRequest {
  var method: String
  var params: [UInt8]
  var metadata: Metadata
  var rawMetadata: [UInt8]
  var waitForReady: Bool
  /// Messages sent in advance, at most the initial credit.
  var messages: [[UInt8]] = []

  var sizeBytes: Int { params.count + rawMetadata.count + metadata.sizeBytes + messagesSize.bytes }
  /// The credit that the messages take, without their frames.
  var messagesSize: StreamCredit {
    StreamCredit(messages: messages.count, bytes: messages.reduce(0) { $0 + $1.count })
  }
}
