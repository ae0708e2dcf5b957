internal import NIOCore

/// One call from its start to its end. Used on its event loop only.
final class OpenClientCall: DeadlineEntry {
  enum Phase { case waiting, open, ended }

  let kind: CallKind
  let deadline: Deadline?
  let owner: LoopClient
  private(set) var phase = Phase.waiting
  /// What is kept until there is a connection.
  var request: WaitingRequest?
  private var handler: (any ClientCallHandler)?
  private var connection: ClientConnection?
  private var id: UInt64 = 0
  private var isHalfClosed = false

  init(owner: LoopClient, kind: CallKind, deadline: Deadline?, handler: any ClientCallHandler) {
    self.owner = owner
    self.kind = kind
    self.deadline = deadline
    self.handler = handler
  }

  /// The connection has opened the call.
  @inline(__always)
  func opened(_ connection: ClientConnection, id: UInt64) {
    self.connection = connection
    self.id = id
    phase = .open
    // A call without a deadline had a limit on its waiting only.
    if deadline == nil { owner.context.remove(self) }
  }

  var sendCredit: Int {
    switch phase {
    case .waiting: kind.streamsRequests ? WireLimits.streamCredit - (request?.messages.count ?? 0) : 0
    case .open: connection?.sendCredit(id) ?? 0
    case .ended: 0
    }
  }

  func send(message: UnsafeRawBufferPointer) -> Bool {
    guard kind.streamsRequests, !isHalfClosed else { return false }
    switch phase {
    case .waiting: return owner.keep(message, of: self)
    case .open: return connection?.send(message, id: id, of: self) ?? false
    case .ended: return false
    }
  }

  func halfClose() {
    guard kind.streamsRequests, !isHalfClosed, phase != .ended else { return }
    isHalfClosed = true
    if phase == .open { connection?.halfClose(id) }
  }

  /// Sends what was kept while the call waited.
  func sendKept(_ kept: WaitingRequest) {
    for message in kept.messages {
      message.withUnsafeBytes { _ = connection?.send($0, id: id, of: self) }
    }
    if isHalfClosed, phase == .open { connection?.halfClose(id) }
  }

  func grantCredit(_ messages: Int) {
    if phase == .open { connection?.grantCredit(messages, id: id) }
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
      // A unary call's handler meets the same deadline at the server; a control frame would say nothing new.
      leave(tellingServer: kind != .unary)
      fail(LocalFailure.deadlineExceeded(processed: handedOver), raw: nil)
    case .ended: break
    }
  }

  /// Ends the call with a failure that this side found out; the server is told to cancel it.
  func abort(_ error: RPCError) {
    guard phase != .ended else { return }
    leave(tellingServer: true)
    fail(error, raw: nil)
  }

  private func leave(tellingServer: Bool) {
    if phase == .waiting { owner.leftQueue(self) } else { connection?.leave(id, tellingServer: tellingServer) }
  }

  // MARK: - what the connection tells

  func received(_ message: UnsafeRawBufferPointer) { handler?.callReceived(message: message) }
  func credited(_ messages: Int) { handler?.callCredit(messages: messages) }

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
  /// Messages sent in advance; at most the initial credit.
  var messages: [[UInt8]] = []

  var sizeBytes: Int { params.count + rawMetadata.count + metadata.sizeBytes + messages.reduce(0) { $0 + $1.count } }
}
