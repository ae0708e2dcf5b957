import CampanileBase
internal import NIOCore
internal import Synchronization

/// A streaming call between its connection and the tasks that send and receive.
///
/// `@unchecked Sendable`: received messages are behind a lock; the other variables are accessed on the loop of `owner`
/// only.
final class StreamCall: ClientCallHandler, StreamTransport, @unchecked Sendable {
  private struct Received {
    var messages: [(json: [UInt8], sizeBytes: Int)] = []
    var head = 0
    /// Set once; read after the messages that precede it.
    var end: StreamEvent?
    var retryAfterMs: Int64?
    var reader: UnsafeContinuation<Void, Never>?
    var hasReceived = false
    var consumed = ConsumedCredit()

    var isWorthReading: Bool { head < messages.count || end != nil || retryAfterMs != nil }

    mutating func takeReader() -> UnsafeContinuation<Void, Never>? {
      defer { reader = nil }
      return reader
    }
  }

  private enum Step {
    case event(StreamEvent)
    case retry(Int64)
    case wait
  }

  private struct Sender {
    var message: [UInt8]
    var continuation: UnsafeContinuation<RPCError?, Never>
  }

  /// The maximum number of tasks waiting to send on one call.
  private static let sendersMax = 1024

  private let owner: LoopClient
  private let head: CallHead
  private let params: [UInt8]
  private let options: CallOptions
  private let allowsRetry: Bool
  private let received = Mutex(Received())
  // Accessed on the loop only:
  private var attempt = 0
  private var call: OpenClientCall?
  private var senders: [Sender] = []
  private var requests: Task<Void, Never>?
  private var endError: RPCError?
  /// Whether a handler may have seen an earlier attempt.
  private var mayHaveRun = false

  init(owner: LoopClient, head: CallHead, params: [UInt8], options: CallOptions, allowsRetry: Bool) {
    self.owner = owner
    self.head = head
    self.params = params
    self.options = options
    self.allowsRetry = allowsRetry
  }

  @inline(__always)
  private func onLoop(_ body: @escaping @Sendable () -> Void) {
    if owner.loop.inEventLoop { body() } else { owner.loop.execute(body) }
  }

  // MARK: - starting and ending

  func start() { onLoop { self.startOnLoop() } }

  /// Starts the call and the task that produces its requests.
  func start(requests: @escaping @Sendable () async throws -> Void) {
    onLoop {
      self.startOnLoop()
      guard self.endError == nil else { return }
      self.requests = Task {
        do {
          try await requests()
          self.halfClose()
        } catch {
          self.cancel(
            error as? RPCError ?? RPCError(.cancelled, "the requests failed: \(error)", reason: "REQUESTS_FAILED"))
        }
      }
    }
  }

  private func startOnLoop() {
    guard endError == nil else { return }
    attempt += 1
    call = params.withUnsafeBytes {
      owner.startCall(
        head, params: $0, rawMetadata: UnsafeRawBufferPointer(start: nil, count: 0), now: owner.loop.now, handler: self)
    }
  }

  /// Cancels the call from any thread. No effect if it has ended.
  func cancel(_ error: RPCError = LocalFailure.cancelled()) {
    let reader = received.withLock { received -> UnsafeContinuation<Void, Never>? in
      guard received.end == nil else { return nil }
      received.end = .failed(error)
      received.retryAfterMs = nil
      received.messages = []
      received.head = 0
      return received.takeReader()
    }
    reader?.resume()
    onLoop {
      self.call?.cancel()
      self.endSending(error)
    }
  }

  private func end(_ event: StreamEvent, _ sendError: RPCError) {
    let reader = received.withLock { received in
      if received.end == nil { received.end = event }
      return received.takeReader()
    }
    reader?.resume()
    endSending(sendError)
  }

  private func endSending(_ error: RPCError) {
    call = nil
    guard endError == nil else { return }
    endError = error
    requests?.cancel()
    requests = nil
    let waiting = senders
    senders = []
    for sender in waiting { sender.continuation.resume(returning: error) }
  }

  // MARK: - receiving

  /// Returns the next message, or the end, which may be read repeatedly.
  func next() async -> StreamEvent {
    while true {
      switch step() {
      case .event(let event): return event
      case .retry(let delayMs):
        if delayMs > 0 { await owner.pause(forMs: delayMs) }
        if Task.isCancelled { cancel() } else { start() }
      case .wait:
        guard await wait() else {
          return .failed(
            RPCError(.failedPrecondition, "the stream is read by another task", reason: "STREAM_READ_TWICE"))
        }
      }
    }
  }

  private func step() -> Step {
    let (step, grant) = received.withLock { received -> (Step, StreamCredit?) in
      if received.head < received.messages.count {
        let message = received.messages[received.head]
        received.head += 1
        if received.head == received.messages.count {
          received.messages.removeAll(keepingCapacity: true)
          received.head = 0
        }
        let grant = received.consumed.consumed(bytes: message.sizeBytes)
        return (.event(.message(message.json)), received.end == nil ? grant : nil)
      }
      if let end = received.end { return (.event(end), nil) }
      if let delayMs = received.retryAfterMs {
        received.retryAfterMs = nil
        return (.retry(delayMs), nil)
      }
      return (.wait, nil)
    }
    if let grant { onLoop { self.call?.grantCredit(grant) } }
    return step
  }

  /// Returns false if another task is already waiting.
  private func wait() async -> Bool {
    let isAlone = received.withLock { $0.reader == nil }
    guard isAlone else { return false }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        let loser = received.withLock { received -> UnsafeContinuation<Void, Never>? in
          guard !received.isWorthReading, received.reader == nil else { return continuation }
          received.reader = continuation
          return nil
        }
        loser?.resume()
      }
    } onCancel: {
      cancel()
    }
    return true
  }

  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    let copy = [UInt8](message)
    // Bounded by the credit, which the connection enforces.
    let reader = received.withLock { received -> UnsafeContinuation<Void, Never>? in
      guard received.end == nil else { return nil }
      received.hasReceived = true
      received.messages.append((copy, sizeBytes))
      return received.takeReader()
    }
    reader?.resume()
  }

  func callFinished(result: UnsafeRawBufferPointer) {
    owner.callSucceeded()
    let ended = RPCError(.cancelled, "the server has ended the call", reason: "CALL_ENDED")
    end(.finished([UInt8](result)), ended)
  }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    call = nil
    let isUntouched = received.withLock { !$0.hasReceived && $0.end == nil }
    // A stream's requests cannot be repeated: their producer has moved on.
    guard isUntouched, head.kind == .serverStreaming,
      let delayMs = owner.retryDelayMs(
        after: error, attempt: attempt, attemptsMax: options.attemptsMax, allowsRetry: allowsRetry,
        deadline: head.deadline)
    else {
      var error = error
      error.processed = error.processed || mayHaveRun
      return end(.failed(error), error)
    }
    mayHaveRun = mayHaveRun || error.processed
    let reader = received.withLock { received in
      received.retryAfterMs = delayMs
      return received.takeReader()
    }
    reader?.resume()
  }

  // MARK: - sending

  /// Sends one request once there is credit for it. Returns the reason if it was not sent.
  func send(_ message: [UInt8]) async -> RPCError? {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        onLoop { self.send(Sender(message: message, continuation: continuation)) }
      }
    } onCancel: {
      cancel()
    }
  }

  private func send(_ sender: Sender) {
    if let endError { return sender.continuation.resume(returning: endError) }
    if senders.isEmpty, sendNow(sender.message) { return sender.continuation.resume(returning: nil) }
    if let endError { return sender.continuation.resume(returning: endError) }
    guard senders.count < Self.sendersMax else {
      return sender.continuation.resume(returning: LocalFailure.full("\(senders.count) tasks wait to send on one call"))
    }
    senders.append(sender)
  }

  private func sendNow(_ message: [UInt8]) -> Bool { message.withUnsafeBytes { call?.send(message: $0) ?? false } }

  func callCredit(_ credit: StreamCredit) {
    while let sender = senders.first, sendNow(sender.message) {
      senders.removeFirst()
      sender.continuation.resume(returning: nil)
    }
  }

  private func halfClose() { onLoop { self.call?.halfClose() } }
}
