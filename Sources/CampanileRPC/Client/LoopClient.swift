import CampanileBase
internal import CampanileCodec
internal import NIOCore

/// The client's part on one event loop: its connections and the calls that wait for one.
///
/// `@unchecked Sendable`: references cross threads, but everything except `loop` and `resources` is accessed on `loop`
/// only.
final class LoopClient: @unchecked Sendable {
  let loop: any EventLoop
  let resources: ClientResources
  private(set) lazy var context = resources.contexts.value(on: loop)
  private lazy var slots = makeSlots(ResolvedNames().endpoints(of: configuration.addresses))
  /// The slot from which the next search for a connection starts, so that equal ones are used in turn.
  private var turn = 0
  private var waiting = WaitingQueue()
  private var drainingConnections: [ClientConnection] = []
  private var budget: RetryBudget
  private var isClosed = false
  /// A buffer in which requests are encoded, one after the other.
  var writer = JSONWriter()

  init(_ loop: any EventLoop, _ resources: ClientResources) {
    self.loop = loop
    self.resources = resources
    budget = RetryBudget(resources.configuration.retry)
  }

  private var configuration: ClientConfiguration { resources.configuration }
  var wantsConnection: Bool { !isClosed && !waiting.isEmpty }
  var isReady: Bool { slots.contains { $0.connection != nil } }
  var waitingCount: Int { waiting.count }
  var openCount: Int {
    slots.reduce(0) { $0 + ($1.connection?.openCount ?? 0) } + drainingConnections.reduce(0) { $0 + $1.openCount }
  }

  /// The connection with room that has the fewest open calls.
  @inline(__always)
  private var connectionWithRoom: ClientConnection? {
    if slots.count <= 1 {
      guard let connection = slots.first?.connection, connection.hasRoom else { return nil }
      return connection
    }
    turn = (turn + 1) % slots.count
    var best: ClientConnection?
    for offset in slots.indices {
      guard let connection = slots[(turn + offset) % slots.count].connection, connection.hasRoom else { continue }
      if let best, best.openCount <= connection.openCount { continue }
      best = connection
    }
    return best
  }

  // MARK: - addresses

  private func makeSlots(_ endpoints: [ServerEndpoint]) -> [ConnectionSlot] {
    let perLoop = 0..<configuration.connectionsPerLoop
    if configuration.balancing == .failover {
      return perLoop.map { ConnectionSlot(owner: self, endpoints: endpoints, index: $0) }
    }
    return endpoints.flatMap { endpoint in
      perLoop.map { _ in ConnectionSlot(owner: self, endpoints: [endpoint], index: 0) }
    }
  }

  /// Uses exactly these endpoints from now on. Connections to others end with their last call.
  func use(_ endpoints: [ServerEndpoint]) {
    let known = Set(slots.flatMap(\.endpoints)), wanted = Set(endpoints)
    guard !isClosed, known != wanted else { return }
    let isInUse = slots.contains { !$0.isIdle }
    let added = makeSlots(endpoints.filter { !known.contains($0) })
    let left = slots.filter { wanted.isDisjoint(with: $0.endpoints) }
    slots.removeAll { wanted.isDisjoint(with: $0.endpoints) }
    slots += added
    for slot in added where isInUse { slot.connectIfIdle() }
    for slot in left { slot.retire() }
  }

  // MARK: - calls

  /// Starts a call. If it cannot be started, the failure reaches its handler in a later tick of the loop.
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
      _ = failSoon(call, LocalFailure.full("\(waiting.count) calls already wait for a connection"))
      return
    }
    for slot in slots { slot.connectIfIdle() }
    if !head.waitForReady, !slots.contains(where: \.mayConnectSoon) {
      _ = failSoon(call, notConnected)
      return
    }
    if head.deadline == nil { context.add(call, at: .after(configuration.waitMax, now: loop.now)) }
    waiting.append(call, request)
  }

  private var notConnected: RPCError {
    var error =
      slots.lazy.compactMap(\.lastFailure).first
      ?? RPCError(.unavailable, "there is no connection", reason: LocalFailure.connectFailed, processed: false)
    if !LocalFailure.isRefusal(error) {
      error.code = .unavailable
      error.reason = LocalFailure.connectFailed
    }
    error.processed = false
    return error
  }

  /// Queues a message of a waiting call. Returns false if there is no room for it.
  func keep(_ message: UnsafeRawBufferPointer, of call: OpenClientCall) -> Bool {
    guard call.request != nil, call.sendCredit.allowsMessage,
      waiting.sizeBytes + message.count <= configuration.bufferedBytesMax
    else { return false }
    waiting.keep(message, of: call)
    return true
  }

  func leftQueue(_ call: OpenClientCall) { _ = waiting.remove(call) }

  func waitedTooLong(hasDeadline: Bool) -> RPCError {
    let why = slots.lazy.compactMap(\.lastFailure).first.map { " (\($0.message))" } ?? ""
    if hasDeadline {
      let doing = isReady ? "waiting to be sent" : "waiting for a connection\(why)"
      return LocalFailure.deadlineExceeded(processed: false, while: doing)
    }
    return RPCError(
      .unavailable, "no connection within \(configuration.waitMax.wholeMilliseconds) ms\(why)",
      reason: LocalFailure.connectTimeout, processed: false)
  }

  /// Sends waiting calls while a connection has room.
  private func sendWaiting() {
    while let connection = connectionWithRoom, let call = waiting.first, let request = waiting.remove(call) {
      let error = request.params.withUnsafeBytes { params in
        request.rawMetadata.withUnsafeBytes { rawMetadata in
          connection.open(
            call, method: request.method, params: params, metadata: request.metadata, rawMetadata: rawMetadata,
            now: loop.now)
        }
      }
      if let error { call.fail(error, raw: nil) } else { call.sendRetained(request) }
    }
  }

  // MARK: - retries

  /// Returns the delay before the next attempt; see `RetryPolicy.delayMs`.
  func retryDelayMs(
    after error: RPCError, attempt: Int, attemptsMax: Int?, allowsRetry: Bool, deadline: Deadline?
  ) -> Int64? {
    guard !isClosed else { return nil }
    return configuration.retry.delayMs(
      after: error, attempt: attempt, attemptsMax: attemptsMax, allowsRetry: allowsRetry,
      remainingMs: deadline?.remainingMs(now: loop.now), budget: &budget, random: resources.environment.random())
  }

  @inline(__always) func callSucceeded() { budget.succeeded() }

  // MARK: - events from links and connections

  func connected() { sendWaiting() }

  /// Handles the failure of every address. If the server refused the client, all waiting calls fail. Otherwise those
  /// without `waitForReady` fail, unless another link is connected or connecting.
  func connectFailed(_ error: RPCError) {
    let isFinal = LocalFailure.isRefusal(error)
    guard isFinal || !slots.contains(where: \.mayConnectSoon) else { return }
    for call in waiting.removeAll(where: { isFinal || !$0.waitForReady }) { call.fail(error, raw: nil) }
  }

  func draining(_ connection: ClientConnection) { drainingConnections.append(connection) }

  func lost(_ connection: ClientConnection) { drainingConnections.removeAll { $0 === connection } }

  @inline(__always)
  func callEnded() { if !waiting.isEmpty { sendWaiting() } }

  func failWaiting() {
    for call in waiting.removeAll(where: { _ in true }) { call.fail(LocalFailure.closed(processed: false), raw: nil) }
  }

  /// Closes all connections and fails all calls.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    for slot in slots { slot.close() }
    // Links and their owner reference each other; this breaks the cycle.
    slots = []
    for connection in drainingConnections { connection.close(LocalFailure.closed(processed: true)) }
    for call in waiting.removeAll(where: { _ in true }) { call.fail(LocalFailure.closed(processed: false), raw: nil) }
  }
}
