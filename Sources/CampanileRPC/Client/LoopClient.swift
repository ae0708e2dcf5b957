internal import CampanileCodec
internal import NIOCore

/// The client's part on one event loop: its connections and the calls that wait for one.
///
/// `@unchecked Sendable`: it is handed from thread to thread, but everything except `loop` and `settings` is touched on `loop` only.
final class LoopClient: @unchecked Sendable {
  let loop: any EventLoop
  let settings: ClientSettings
  private(set) lazy var context = settings.contexts.value(on: loop)
  private lazy var links = (0..<settings.configuration.connectionsPerLoop).map { ClientLink(owner: self, index: $0) }
  private var waiting = WaitingQueue()
  private var drainingConnections: [ClientConnection] = []
  private var budget: RetryBudget
  private var isClosed = false
  /// Requests are encoded into it, one after the other.
  var writer = JSONWriter()

  init(_ loop: any EventLoop, _ settings: ClientSettings) {
    self.loop = loop
    self.settings = settings
    budget = RetryBudget(settings.configuration.retry)
  }

  private var configuration: ClientConfiguration { settings.configuration }
  var wantsConnection: Bool { !isClosed && !waiting.isEmpty }
  var isReady: Bool { links.contains { $0.connection != nil } }
  var waitingCount: Int { waiting.count }
  var openCount: Int {
    links.reduce(0) { $0 + ($1.connection?.openCount ?? 0) } + drainingConnections.reduce(0) { $0 + $1.openCount }
  }

  /// The connection with room that has the fewest calls.
  @inline(__always)
  private var connectionWithRoom: ClientConnection? {
    if links.count == 1 {
      guard let connection = links[0].connection, connection.hasRoom else { return nil }
      return connection
    }
    return links.compactMap(\.connection).filter(\.hasRoom).min { $0.openCount < $1.openCount }
  }

  // MARK: - calls

  /// Starts a call. A failure to start it reaches its handler in a later turn of the loop.
  @inline(__always)
  func startCall(
    _ head: CallHead, params: UnsafeRawBufferPointer, rawMetadata: UnsafeRawBufferPointer, now: NIODeadline,
    handler: any ClientCallHandler
  ) -> OpenClientCall {
    let call = OpenClientCall(owner: self, kind: head.kind, deadline: head.deadline, handler: handler)
    if !head.metadata.isEmpty, var fault = head.metadata.fault() {
      fault.processed = false
      return failSoon(call, fault)
    }
    if let deadline = head.deadline { context.add(call, at: deadline) }
    guard waiting.isEmpty, let connection = connectionWithRoom else {
      wait(call, head, params: params, rawMetadata: rawMetadata)
      return call
    }
    let error = connection.open(
      call, method: head.method, params: params, metadata: head.metadata, rawMetadata: rawMetadata, now: now)
    return error.map { failSoon(call, $0) } ?? call
  }

  private func failSoon(_ call: OpenClientCall, _ error: RPCError) -> OpenClientCall {
    loop.assumeIsolated().execute { call.fail(error, raw: nil) }
    return call
  }

  private func wait(
    _ call: OpenClientCall, _ head: CallHead, params: UnsafeRawBufferPointer, rawMetadata: UnsafeRawBufferPointer
  ) {
    if isClosed {
      _ = failSoon(call, LocalFailure.closed(processed: false))
      return
    }
    let request = WaitingRequest(
      method: head.method, params: [UInt8](params), metadata: head.metadata, rawMetadata: [UInt8](rawMetadata),
      waitForReady: head.waitForReady)
    guard waiting.count < configuration.waitingCallsMax,
      waiting.sizeBytes + request.sizeBytes <= configuration.bufferedBytesMax
    else {
      _ = failSoon(call, LocalFailure.full("\(waiting.count) calls wait for a connection, which is the limit"))
      return
    }
    for link in links { link.demand() }
    if !head.waitForReady, !links.contains(where: \.isPromising) {
      _ = failSoon(call, notConnected)
      return
    }
    if head.deadline == nil { context.add(call, at: .after(timeoutMs: configuration.waitMsMax, now: loop.now)) }
    waiting.append(call, request)
  }

  private var notConnected: RPCError {
    var error =
      links.lazy.compactMap(\.lastFailure).first
      ?? RPCError(.unavailable, "there is no connection", reason: LocalFailure.connectFailed, processed: false)
    if !LocalFailure.isRefusal(error) {
      error.code = .unavailable
      error.reason = LocalFailure.connectFailed
    }
    error.processed = false
    return error
  }

  /// Keeps a message of a call that waits. False when there is no room for it.
  func keep(_ message: UnsafeRawBufferPointer, of call: OpenClientCall) -> Bool {
    guard let request = call.request, request.messages.count < WireLimits.streamCredit,
      waiting.sizeBytes + message.count <= configuration.bufferedBytesMax
    else { return false }
    waiting.keep(message, of: call)
    return true
  }

  func leftQueue(_ call: OpenClientCall) { _ = waiting.remove(call) }

  func waitedTooLong(hasDeadline: Bool) -> RPCError {
    let why = links.lazy.compactMap(\.lastFailure).first.map { " (\($0.message))" } ?? ""
    if hasDeadline {
      let doing = isReady ? "waiting to be sent" : "waiting for a connection\(why)"
      return LocalFailure.deadlineExceeded(processed: false, while: doing)
    }
    return RPCError(
      .unavailable, "no connection within \(configuration.waitMsMax) ms\(why)",
      reason: LocalFailure.connectTimeout, processed: false)
  }

  /// Sends waiting calls while there is room.
  private func sendWaiting() {
    while let connection = connectionWithRoom, let call = waiting.first, let request = waiting.remove(call) {
      let error = request.params.withUnsafeBytes { params in
        request.rawMetadata.withUnsafeBytes { rawMetadata in
          connection.open(
            call, method: request.method, params: params, metadata: request.metadata, rawMetadata: rawMetadata,
            now: loop.now)
        }
      }
      if let error { call.fail(error, raw: nil) } else { call.sendKept(request) }
    }
  }

  // MARK: - retries

  /// See `RetryPolicy.delayMs`.
  func retryDelayMs(
    after error: RPCError, attempt: Int, attemptsMax: Int?, allowsRepeat: Bool, deadline: Deadline?
  ) -> Int64? {
    guard !isClosed else { return nil }
    return configuration.retry.delayMs(
      after: error, attempt: attempt, attemptsMax: attemptsMax, allowsRepeat: allowsRepeat,
      remainingMs: deadline?.remainingMs(now: loop.now), budget: &budget, random: settings.environment.random())
  }

  @inline(__always) func callSucceeded() { budget.succeeded() }

  // MARK: - what links and connections tell

  func connected() { sendWaiting() }

  /// Every address has failed once.
  func connectFailed(_ error: RPCError) {
    let isFinal = LocalFailure.isRefusal(error)
    guard isFinal || !links.contains(where: \.isPromising) else { return }
    for call in waiting.removeAll(where: { isFinal || !$0.waitForReady }) { call.fail(error, raw: nil) }
  }

  func draining(_ connection: ClientConnection) { drainingConnections.append(connection) }

  func lost(_ connection: ClientConnection) { drainingConnections.removeAll { $0 === connection } }

  @inline(__always)
  func callEnded() { if !waiting.isEmpty { sendWaiting() } }

  func failWaiting() {
    for call in waiting.removeAll(where: { _ in true }) { call.fail(LocalFailure.closed(processed: false), raw: nil) }
  }

  /// Ends everything at once.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    for link in links { link.close() }
    // Links know their owner; this lets go of both.
    links = []
    for connection in drainingConnections { connection.close(LocalFailure.closed(processed: true)) }
    for call in waiting.removeAll(where: { _ in true }) { call.fail(LocalFailure.closed(processed: false), raw: nil) }
  }
}
