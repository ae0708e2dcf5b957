internal import CampanileRPC
internal import NIOCore

/// Sends calls over the suite's own wire, of any shape. A failed call is not repeated: every failure shows.
final class RPCDriver: CallDriver {
  private let loop: any EventLoop
  /// A client for each connection, so that lanes spread over them evenly.
  private var clients: [RPCClient]
  private let target: LoadTarget
  private let stream: StreamPlan
  var isStreaming: Bool { target.isStreaming }

  /// Granted at once, well before the initial credit of 32 is used up.
  private static let creditStep = 16

  init(
    _ target: LoadTarget, configuration: ClientConfiguration, stream: StreamPlan, connections: Int, loop: any EventLoop
  ) throws(RPCError) {
    self.loop = loop
    self.target = target
    self.stream = stream
    var one = configuration
    one.connectionsPerLoop = 1
    var clients: [RPCClient] = []
    for _ in 0..<max(1, connections) { clients.append(try RPCClient(one, group: loop)) }
    self.clients = clients
  }

  @inline(__always)
  func start(_ lane: LoadLane, timeoutMs: Int64) {
    lane.messagesSent = 0
    lane.messagesReceived = 0
    lane.creditToGrant = 0
    lane.waitsForCredit = false
    let head = CallHead(
      method: target.method, kind: target.kind, deadline: .after(timeoutMs: timeoutMs), metadata: target.metadata)
    let client = clients[lane.index % clients.count]
    if target.clientStreaming {
      lane.call = client.startCall(head, params: UnsafeRawBufferPointer(start: nil, count: 0), on: loop, handler: lane)
      sendMessages(lane)
    } else {
      lane.call = lane.request.withUnsafeBytes { client.startCall(head, params: $0, on: loop, handler: lane) }
      if target.serverStreaming { lane.loop.messageSent() }
    }
  }

  func cancel(_ lane: LoadLane) {
    lane.call?.cancel()
    lane.call = nil
  }

  /// Letting go of a client closes it.
  func close() { clients = [] }

  // MARK: - streams

  /// Sends requests as far as credit and the message rate go; after the last one says that it was.
  func sendMessages(_ lane: LoadLane) {
    guard target.clientStreaming, lane.isBusy, let call = lane.call, call.isOpen else { return }
    let total = stream.messages ?? 1
    while lane.messagesSent < total {
      guard call.sendCredit > 0, lane.request.withUnsafeBytes({ call.send(message: $0) }) else {
        lane.waitsForCredit = true
        return
      }
      lane.messagesSent += 1
      lane.loop.messageSent()
      if let rate = stream.messagesPerSecond, lane.messagesSent < total {
        return sendLater(lane, in: .nanoseconds(Int64(1e9 / rate)))
      }
    }
    call.halfClose()
  }

  private func sendLater(_ lane: LoadLane, in delay: TimeAmount) {
    let turn = lane.turn
    loop.assumeIsolated().scheduleTask(in: delay) { [self] in
      if lane.turn == turn { sendMessages(lane) }
    }
  }

  func received(_ lane: LoadLane) {
    lane.messagesReceived += 1
    lane.loop.messageReceived()
    if !target.clientStreaming, let limit = stream.messages, lane.messagesReceived >= limit {
      cancel(lane)
      lane.finished(.ok)
      return
    }
    lane.creditToGrant += 1
    if lane.creditToGrant == Self.creditStep {
      lane.call?.grantCredit(Self.creditStep)
      lane.creditToGrant = 0
    }
  }

  func credited(_ lane: LoadLane) {
    guard lane.waitsForCredit else { return }
    lane.waitsForCredit = false
    sendMessages(lane)
  }
}

/// An RPC client's answers reach the lane itself, without an object between.
extension LoadLane: ClientCallHandler {
  func callReceived(message: UnsafeRawBufferPointer) { loop.rpc?.received(self) }
  func callCredit(messages: Int) { loop.rpc?.credited(self) }

  func callFinished(result: UnsafeRawBufferPointer) {
    call = nil
    finished(.ok, reply: result)
  }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    call = nil
    let isLocal = rawError == nil && error.code == .unavailable
    finished(CallEnd(status: error.code.rawValue, message: "\(error.reason): \(error.message)", isLocal: isLocal))
  }
}
