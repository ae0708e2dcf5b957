import APNs
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// Finds the way of a push: the host of its environment and the signing key of its app.
protocol PushRouting: Sendable {
  /// Nil when the environment has no host or the app no key in it.
  func route(of key: PushRouteKey) -> PushRoute?
  /// The value of `authorization`, renewed where the rules ask for it.
  func authorization(for route: PushRoute) async throws -> String
  /// APNs called this value expired: renews it where the rules allow. Answers when it is worth trying again.
  func renewAuthorization(_ rejected: String, for route: PushRoute) async -> Int64
}

/// Sends what is queued: reads due pushes, hands them to the sender, and writes what became of them.
///
/// A round is one transaction: it settles the results that have come and takes pushes for the capacity that is free. What was
/// taken and is not settled when the process ends is taken again by the next: sent at least once, with the same `apns-id`.
final class PushDispatcher: Sendable {
  struct Environment: Sendable {
    /// The wall clock.
    var nowMs: @Sendable () -> Int64
    /// A clock that never jumps.
    var steadyMs: @Sendable () -> Int64
    /// In 0..<1.
    var random: @Sendable () -> Double
    var log: @Sendable (String) -> Void
    /// Continues the traces of pushes; `nil` ends them.
    var tracer: Tracer?
  }

  private struct State {
    var inFlight: [UInt64: Flight] = [:]
    var unsettled: [PushResult] = []
    var nextTicket: UInt64 = 1
    /// A transaction failed whose outcome is not known: rows may be marked as taken that nobody sends.
    var mustRecover = true
    /// The wall clock at the last round.
    var lastMs: Int64 = 0
    var isDraining = false
  }

  private struct Flight {
    var push: TakenPush
    var route: PushRoute
    var authorization: String
    var span: Span?
  }

  let limits: DeliveryLimits
  private let store: Store
  private let board: DeliveryBoard
  private let registry: any PushTokenRegistry
  private let listener: (any PushListener)?
  private let routing: any PushRouting
  private let sender: any PushSending
  private let budget: PriorityBudget.Limits
  private let backoff: Backoff
  private let environment: Environment
  private let state = Mutex(State())
  /// What has become of requests, for metrics.
  let outcomes = PushOutcomes()

  init(
    store: Store, queue: PushQueue, registry: any PushTokenRegistry, listener: (any PushListener)? = nil,
    routing: any PushRouting, sender: any PushSending, budget: PriorityBudget.Limits = .init(),
    backoff: Backoff = Backoff(),
    environment: Environment
  ) {
    limits = queue.limits
    self.store = store
    board = queue.board
    self.registry = registry
    self.listener = listener
    self.routing = routing
    self.sender = sender
    self.budget = budget
    self.backoff = backoff
    self.environment = environment
  }

  /// Pushes under way.
  var inFlightCount: Int { state.withLock { $0.inFlight.count } }

  /// Runs until the task is cancelled. A round that the store refuses is repeated.
  func run() async {
    while !Task.isCancelled {
      do {
        if try await round() > 0 { continue }
        try await rest(try pauseMs())
      } catch is CancellationError {
        return
      } catch {
        environment.log("a round of delivery failed: \(error)")
        do { try await Task.sleep(for: .milliseconds(limits.pollMs)) } catch { return }
      }
    }
  }

  /// Takes nothing more and waits until what is under way has ended, or until `timeoutMs` have passed.
  func drain(timeoutMs: Int64) async {
    state.withLock { $0.isDraining = true }
    let endMs = environment.steadyMs() + max(0, timeoutMs)
    while inFlightCount > 0, environment.steadyMs() < endMs {
      do {
        if try await round() == 0 { try await rest(min(50, limits.pollMs)) }
      } catch {
        return
      }
    }
  }

  /// One round. Answers how many results were settled and pushes taken.
  func round() async throws -> Int {
    if board.takeMustReadRoutes() { board.learn(try store.readSingle(PushTable.routes)) }
    let results = collect()
    let nowMs = environment.nowMs()
    let (shares, room) = shares()
    let settlements = await settlements(results, nowMs: nowMs)
    let recovering = state.withLock { state in
      // A clock that was set back would let everything wait that was queued under the other time.
      if nowMs < state.lastMs - Self.clockStepMs { state.mustRecover = true }
      state.lastMs = nowMs
      return state.mustRecover
    }
    if settlements.isEmpty, shares.isEmpty, !recovering { return 0 }
    let kept = recovering ? state.withLock { Set($0.inFlight.values.map(\.push.apnsID)) } : []
    let taken: [TakenPush]
    do {
      taken = try await store.write { [self] transaction in
        try registry.settle(transaction)
        if recovering { try Self.recover(keeping: kept, board: board, nowMs: nowMs, in: transaction) }
        let settling = PushSettling(
          transaction: transaction, registry: registry, listener: listener, board: board, limits: limits, nowMs: nowMs)
        for settlement in settlements {
          try settling.settle(settlement.push, settlement.decision, retryAtMs: settlement.retryAtMs)
        }
        return try PushTaking(
          transaction: transaction, registry: registry, settling: settling, budget: budget, nowMs: nowMs
        ).take(shares, room: room)
      }
    } catch {
      state.withLock { state in
        state.unsettled = results + state.unsettled
        state.mustRecover = true
      }
      throw error
    }
    forget(results, recovered: recovering)
    await send(taken)
    return settlements.count + taken.count
  }

  /// How far a clock may go back before it counts as set back.
  private static let clockStepMs: Int64 = 1_000

  // MARK: Results

  private struct Settlement: Sendable {
    var push: TakenPush
    var decision: RetryRules.Decision
    var retryAtMs: Int64
  }

  private func collect() -> [PushResult] {
    let new = sender.takeResults()
    for result in new { outcomes.count(result.outcome) }
    return state.withLock { state in
      defer { state.unsettled = [] }
      return state.unsettled + new
    }
  }

  private func settlements(_ results: [PushResult], nowMs: Int64) async -> [Settlement] {
    let flights = state.withLock { state in results.map { state.inFlight[$0.ticket] } }
    var settlements: [Settlement] = []
    settlements.reserveCapacity(results.count)
    for (result, flight) in zip(results, flights) {
      guard let flight else { continue }
      if let span = flight.span { Self.end(span, flight, result.outcome) }
      let decision = RetryRules.decide(
        result.outcome, attempts: flight.push.attempts, isRenewed: flight.push.isRenewed,
        attemptsMax: limits.attemptsMax, backoff: backoff, random: environment.random())
      var retryAtMs = nowMs
      switch decision {
      case .renewToken: retryAtMs = await routing.renewAuthorization(flight.authorization, for: flight.route)
      case .putBack:
        let pause = backoff.delayMs(attempts: 1, random: environment.random())
        retryAtMs = nowMs + min(limits.routeWaitMsMax, pause)
      default: break
      }
      settlements.append(Settlement(push: flight.push, decision: decision, retryAtMs: retryAtMs))
    }
    return settlements
  }

  private static func end(_ span: Span, _ flight: Flight, _ outcome: PushOutcome) {
    span.set("apns-id", flight.push.apnsID)
    span.set("server.address", flight.route.host.name)
    span.set("apns.push_type", flight.push.pushType.rawValue)
    span.set("apns.attempt", String(flight.push.attempts + 1))
    switch outcome {
    case .answered(let answer):
      span.set("http.response.status_code", String(answer.status))
      if !answer.reason.isEmpty { span.set("apns.reason", answer.reason) }
      span.end(failure: answer.status == 200 ? nil : answer.reason)
    case .unprocessed(let why), .lost(let why): span.end(failure: why)
    }
  }

  private func forget(_ results: [PushResult], recovered: Bool) {
    state.withLock { state in
      if recovered { state.mustRecover = false }
      for result in results { state.inFlight[result.ticket] = nil }
    }
  }

  /// Rows that are marked as taken and that nobody sends: those of a process that ended, or of a commit whose answer was lost.
  private static func recover(
    keeping kept: Set<String>, board: DeliveryBoard, nowMs: Int64, in transaction: WriteTransaction
  ) throws {
    // Queued at a time to come: the clock was set back since, and their times go back with it.
    try transaction.execute(
      "UPDATE pushes SET due_ms = due_ms - (queued_at_ms - $1), queued_at_ms = $1 WHERE queued_at_ms > $1",
      [.integer(nowMs)])
    var lost: [(String, String)] = []
    try transaction.forEach("SELECT lane, apns_id FROM pushes WHERE state = 1") { row in
      let id = try row.text(1)
      if !kept.contains(id) { lost.append((try row.text(0), id)) }
      return true
    }
    for (lane, id) in lost {
      // It may have been sent, so that nothing newer may have its timestamp.
      try transaction.execute(
        "UPDATE pushes SET state = 0, attempts = CASE attempts WHEN 0 THEN 1 ELSE attempts END WHERE lane = $1 AND apns_id = $2",
        [.text(lane), .text(id)])
    }
    if !lost.isEmpty { board.mustLook() }
  }

  // MARK: Taking

  /// What each app may take now, and all of them together. Apps of one route share what it has free.
  private func shares() -> (shares: [PushTaking.Share], room: Int) {
    let (isDraining, inFlight) = state.withLock { ($0.isDraining, $0.inFlight.count) }
    let room = limits.inFlightMax - inFlight
    if isDraining || room <= 0 { return ([], 0) }
    var byRoute: [PushRoute: [(key: PushRouteKey, id: Int64)]] = [:]
    for (key, id) in board.allRoutes {
      if let route = routing.route(of: key) { byRoute[route, default: []].append((key, id)) }
    }
    var shares: [PushTaking.Share] = []
    // In a new order each time, so that none is always the last when there is little room.
    for (route, keys) in byRoute.shuffled() {
      let free = min(sender.capacity(of: route).free, limits.takenPerRoundMax)
      guard free > 0 else { continue }
      // Each app gets its part, and the first of a rotating order what is left over.
      let each = max(1, free / keys.count)
      var left = free
      for (key, id) in keys.shuffled() where left > 0 {
        shares.append(PushTaking.Share(key: key, routeID: id, limit: min(each, left)))
        left -= each
      }
    }
    return (shares, room)
  }

  private func send(_ taken: [TakenPush]) async {
    var batches: [PushRoute: [TakenPush]] = [:]
    var strays: [TakenPush] = []
    for push in taken {
      if let route = routing.route(of: push.route) {
        batches[route, default: []].append(push)
      } else {
        strays.append(push)
      }
    }
    for (route, pushes) in batches {
      var failure: String?
      var authorization = ""
      do {
        authorization = try await routing.authorization(for: route)
      } catch {
        failure = "no provider token: \(error)"
      }
      submit(pushes, route, authorization, failure: failure)
    }
    // A key that was revoked in between.
    let nowhere = PushRoute(host: APNsHost(name: "", port: 0), teamID: "", keyID: "")
    if !strays.isEmpty { submit(strays, nowhere, "", failure: "the app has no signing key any more") }
  }

  private func submit(_ pushes: [TakenPush], _ route: PushRoute, _ authorization: String, failure: String?) {
    let nowMs = environment.nowMs()
    let requests = state.withLock { state in
      pushes.map { push in
        var push = push
        if failure == nil { push.sentAtMs = nowMs }
        let ticket = state.nextTicket
        state.nextTicket += 1
        let request = push.request(ticket: ticket, authorization: authorization)
        var flight = Flight(push: push, route: route, authorization: authorization)
        if let trace = push.traceParent { flight.span = environment.tracer?.span("APNs", .client, after: trace) }
        state.inFlight[ticket] = flight
        return request
      }
    }
    if let failure {
      environment.log("\(requests.count) pushes are put back: \(failure)")
      state.withLock { state in
        state.unsettled += requests.map { PushResult(ticket: $0.ticket, outcome: .unprocessed(failure)) }
      }
      board.bell.ring()
    } else {
      sender.submit(requests, to: route)
    }
  }

  // MARK: Waiting

  /// Until the next push is due on a route that takes some, `pollMs` at most.
  private func pauseMs() throws -> Int64 {
    let nowMs = environment.nowMs()
    let nextMs = try store.readSingle { transaction in
      try board.allRoutes.values.compactMap { id in
        try transaction.queryOne(Self.nextSQL, [.integer(id)]) { try $0.integer(0) }
      }.min()
    }
    guard let nextMs else { return limits.pollMs }
    // What is due already waits for its route, whose pool rings the bell.
    return nextMs > nowMs ? min(nextMs - nowMs, limits.pollMs) : limits.pollMs
  }

  static let nextSQL = """
    SELECT due_ms FROM pushes WHERE route_id = $1 AND state = 0 ORDER BY due_ms LIMIT 1
    """

  private func rest(_ pauseMs: Int64) async throws {
    let bell = board.bell
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Task.sleep(for: .milliseconds(max(1, pauseMs))) }
      group.addTask { try await bell.wait() }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }
}
