import CampanileBase
internal import CampanileRPC
internal import NIOCore

/// Sends calls of any streaming shape with the suite's RPC protocol, without retries, so that every failure is counted.
final class RPCDriver: CallDriver {
  private let loop: any EventLoop
  /// A client for each connection, so that workers are distributed evenly.
  private var clients: [RPCClient]
  private let target: LoadTarget
  private let stream: StreamPlan
  var isStreaming: Bool { target.isStreaming }

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
  func start(_ worker: LoadWorker, timeoutMs: Int64) {
    worker.messagesSent = 0
    worker.messagesReceived = 0
    worker.consumed = ConsumedCredit()
    worker.waitsForCredit = false
    let head = CallHead(
      method: target.method, kind: target.kind, deadline: .after(timeoutMs: timeoutMs), metadata: target.metadata)
    let client = clients[worker.index % clients.count]
    if target.clientStreaming {
      worker.call = client.startCall(
        head, params: UnsafeRawBufferPointer(start: nil, count: 0), on: loop, handler: worker)
      sendMessages(worker)
    } else {
      worker.call = worker.request.withUnsafeBytes { client.startCall(head, params: $0, on: loop, handler: worker) }
      if target.serverStreaming { worker.loop.messageSent() }
    }
  }

  func cancel(_ worker: LoadWorker) {
    worker.call?.cancel()
    worker.call = nil
  }

  /// Releases the clients, which closes their connections.
  func close() { clients = [] }

  // MARK: - streams

  /// Sends requests as credit and the message rate allow, and closes the stream after the last one.
  func sendMessages(_ worker: LoadWorker) {
    guard target.clientStreaming, worker.isBusy, let call = worker.call, call.isOpen else { return }
    let total = stream.messages ?? 1
    while worker.messagesSent < total {
      guard call.sendCredit.allowsMessage, worker.request.withUnsafeBytes({ call.send(message: $0) }) else {
        worker.waitsForCredit = true
        return
      }
      worker.messagesSent += 1
      worker.loop.messageSent()
      if let rate = stream.messagesPerSecond, worker.messagesSent < total {
        return sendLater(worker, in: .nanoseconds(Int64(1e9 / rate)))
      }
    }
    call.halfClose()
  }

  private func sendLater(_ worker: LoadWorker, in delay: TimeAmount) {
    let turn = worker.turn
    loop.assumeIsolated().scheduleTask(in: delay) { [self] in
      if worker.turn == turn { sendMessages(worker) }
    }
  }

  func received(_ worker: LoadWorker, sizeBytes: Int) {
    worker.messagesReceived += 1
    worker.loop.messageReceived()
    if !target.clientStreaming, let limit = stream.messages, worker.messagesReceived >= limit {
      cancel(worker)
      worker.finished(.ok)
      return
    }
    if let grant = worker.consumed.consumed(bytes: sizeBytes) { worker.call?.grantCredit(grant) }
  }

  func credited(_ worker: LoadWorker) {
    guard worker.waitsForCredit else { return }
    worker.waitsForCredit = false
    sendMessages(worker)
  }
}

/// The worker handles the client's events directly, without an allocation per call.
extension LoadWorker: ClientCallHandler {
  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) { loop.rpc?.received(self, sizeBytes: sizeBytes) }
  func callCredit(_ credit: StreamCredit) { loop.rpc?.credited(self) }

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
