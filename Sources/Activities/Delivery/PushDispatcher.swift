import APNs
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// Resolves a push's route: the host of its environment and the signing key of its app.
protocol PushRouting: Sendable {
  /// Returns the route, or nil if the environment has no host or the app no key in it.
  func route(of key: PushRouteKey) -> PushRoute?
  /// Returns the value of `authorization`, renewed if necessary.
  func authorization(for route: PushRoute) async throws -> String
  /// Renews a value that APNs rejected as expired, if the rules allow it.
  ///
  /// - Returns: The wall-clock time of the next attempt.
  func renewAuthorization(_ rejected: String, for route: PushRoute) async -> Int64
}

/// Sends queued pushes: reads due pushes, submits them to the sender, and stores their results.
///
/// A round is one transaction that settles the received results and takes pushes for the free capacity. A push that was
/// taken but not settled when the process ends is taken again by the next process. Every push is therefore sent at
/// least once, with the same `apns-id`.
final class PushDispatcher: Sendable {
  struct Environment: Sendable {
    /// The wall clock in milliseconds since 1970.
    var nowMs: @Sendable () -> Int64
    /// A monotonic clock in milliseconds.
    var steadyMs: @Sendable () -> Int64
    /// Returns random numbers in 0..<1.
    var random: @Sendable () -> Double
    var log: @Sendable (String) -> Void
    /// Continues the traces of pushes; nil drops them.
    var tracer: Tracer?
  }

  private struct State {
    var inFlight: [UInt64: Flight] = [:]
    var unsettled: [PushResult] = []
    var nextTicket: UInt64 = 1
    /// Whether rows may be marked as taken although no push is in flight, because a transaction's outcome is unknown.
    var mustRecover = true
    /// The wall clock at the last round.
    var lastMs: Int64 = 0
    var isDraining = false
  }

  private struct Flight {
    var push: ClaimedPush
    var route: PushRoute
    var authorization: String
    var span: Span?
  }

  let limits: DeliveryLimits
  private let store: Store
  private let notifier: DeliveryNotifier
  private let registry: any PushTokenRegistry
  private let listener: (any PushListener)?
  private let routing: any PushRouting
  private let sender: any PushSending
  private let budget: PriorityBudget.Limits
  private let frequentBudget: PriorityBudget.Limits
  private let backoff: Backoff
  private let environment: Environment
  private let state = Mutex(State())
  /// Counts the outcomes of requests, for metrics.
  let outcomes = PushOutcomes()

  init(
    store: Store, queue: PushQueue, registry: any PushTokenRegistry, listener: (any PushListener)? = nil,
    routing: any PushRouting, sender: any PushSending, budget: PriorityBudget.Limits = .init(),
    frequentBudget: PriorityBudget.Limits = .frequent, backoff: Backoff = Backoff(), environment: Environment
  ) {
    limits = queue.limits
    self.store = store
    notifier = queue.notifier
    self.registry = registry
    self.listener = listener
    self.routing = routing
    self.sender = sender
    self.budget = budget
    self.frequentBudget = frequentBudget
    self.backoff = backoff
    self.environment = environment
  }

  /// The number of pushes in flight.
  var inFlightCount: Int { state.withLock { $0.inFlight.count } }

  /// Runs until the task is cancelled. A round that fails in the store is retried.
  ///
  /// - Parameter prepare: Runs before the first round.
  func run(prepare: () async throws -> Void = {}) async {
    // A process that has delivered in the meantime may have left pushes behind.
    state.withLock { ($0.mustRecover, $0.isDraining) = (true, false) }
    var isPrepared = false
    await notifier.signal.runRounds(
      retryMs: limits.pollMs, failed: { environment.log("delivery round failed: \($0)") }
    ) {
      if !isPrepared { try await prepare() }
      isPrepared = true
      return try await round() > 0 ? nil : max(1, pauseMs())
    }
  }

  /// Stops taking pushes and waits until those in flight have ended, at most `timeoutMs`.
  func drain(timeoutMs: Int64) async {
    state.withLock { $0.isDraining = true }
    let endMs = environment.steadyMs() + max(0, timeoutMs)
    while inFlightCount > 0, environment.steadyMs() < endMs {
      do {
        if try await round() == 0 { try await notifier.signal.wait(timeoutMs: Self.drainPauseMs) }
      } catch let error as StoreError where error.code != .interrupted && error.code != .closed {
        // Not because of the lease, so a later round may succeed.
        try? await Task.sleep(for: .milliseconds(Self.drainPauseMs))
      } catch {
        return
      }
    }
  }

  private static let drainPauseMs: Int64 = 50

  /// Runs one round.
  ///
  /// - Returns: The number of results settled plus the number of pushes taken.
  func round() async throws -> Int {
    if notifier.takeMustReadRoutes() { notifier.learn(try await store.readSingle(PushTable.routes)) }
    let results = collect()
    let nowMs = environment.nowMs()
    let (shares, room) = shares()
    let settlements = await settlements(results, nowMs: nowMs)
    let recovering = state.withLock { state in
      // After the clock was set back, pushes queued under the old time would wait too long.
      if nowMs < state.lastMs - Self.clockStepMs { state.mustRecover = true }
      state.lastMs = nowMs
      return state.mustRecover
    }
    if settlements.isEmpty, shares.isEmpty, !recovering { return 0 }
    let kept = recovering ? state.withLock { Set($0.inFlight.values.map(\.push.apnsID)) } : []
    let taken: [ClaimedPush]
    do {
      taken = try await store.write { [self] transaction in
        try registry.settle(transaction)
        if recovering { try Self.recover(keeping: kept, notifier: notifier, nowMs: nowMs, in: transaction) }
        let completion = PushCompletion(
          transaction: transaction, registry: registry, listener: listener, notifier: notifier, limits: limits,
          nowMs: nowMs)
        for settlement in settlements {
          try completion.settle(settlement.push, settlement.decision, retryAtMs: settlement.retryAtMs)
        }
        return try PushSelection(
          transaction: transaction, registry: registry, completion: completion, budget: budget,
          frequentBudget: frequentBudget, nowMs: nowMs
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

  /// Maximum backward step that does not count as a clock change.
  private static let clockStepMs: Int64 = 1_000

  // MARK: Results

  private struct Settlement: Sendable {
    var push: ClaimedPush
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
        let pause = backoff.delayMs(failures: 1, random: environment.random())
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
    span.set("apns.push_type", flight.push.order.pushType.rawValue)
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

  /// Releases rows that are marked as taken although no push is in flight.
  ///
  /// They belong to a process that ended, or to a commit whose result was lost.
  private static func recover(
    keeping kept: Set<String>, notifier: DeliveryNotifier, nowMs: Int64, in transaction: WriteTransaction
  ) throws {
    // A queue time in the future means that the clock was set back: shift these times back too.
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
      // The push may have been sent, so no newer push may reuse its timestamp.
      try transaction.execute(
        "UPDATE pushes SET state = 0, attempts = CASE attempts WHEN 0 THEN 1 ELSE attempts END WHERE lane = $1 AND apns_id = $2",
        [.text(lane), .text(id)])
    }
    if !lost.isEmpty { notifier.mustLook() }
  }

  // MARK: Taking

  /// Returns how many pushes each app may take now, and the total. Apps of one route share its free capacity.
  private func shares() -> (shares: [PushSelection.Share], room: Int) {
    let (isDraining, inFlight) = state.withLock { ($0.isDraining, $0.inFlight.count) }
    let room = limits.inFlightMax - inFlight
    if isDraining || room <= 0 { return ([], 0) }
    var byRoute: [PushRoute: [(key: PushRouteKey, id: Int64)]] = [:]
    for (key, id) in notifier.allRoutes {
      if let route = routing.route(of: key) { byRoute[route, default: []].append((key, id)) }
    }
    var shares: [PushSelection.Share] = []
    // Shuffled, so that no route is always last when there is little room.
    for (route, keys) in byRoute.shuffled() {
      let free = min(sender.capacity(of: route).free, limits.takenPerRoundMax)
      guard free > 0 else { continue }
      // Each app gets an equal share; the first ones in random order get the remainder.
      let each = max(1, free / keys.count)
      var left = free
      for (key, id) in keys.shuffled() where left > 0 {
        shares.append(PushSelection.Share(key: key, routeID: id, limit: min(each, left)))
        left -= each
      }
    }
    return (shares, room)
  }

  private func send(_ taken: [ClaimedPush]) async {
    var batches: [PushRoute: [ClaimedPush]] = [:]
    var strays: [ClaimedPush] = []
    for push in taken {
      if let route = routing.route(of: push.order.route) {
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
    // Their key was revoked after the shares were computed.
    let nowhere = PushRoute(host: APNsHost(name: "", port: 0), teamID: "", keyID: "")
    if !strays.isEmpty { submit(strays, nowhere, "", failure: "the app no longer has a signing key") }
  }

  private func submit(_ pushes: [ClaimedPush], _ route: PushRoute, _ authorization: String, failure: String?) {
    let nowMs = environment.nowMs()
    let requests = state.withLock { state in
      pushes.map { push in
        var push = push
        if failure == nil { push.sentAtMs = nowMs }
        let ticket = state.nextTicket
        state.nextTicket += 1
        let request = push.request(ticket: ticket, authorization: authorization)
        var flight = Flight(push: push, route: route, authorization: authorization)
        if let trace = push.order.traceParent { flight.span = environment.tracer?.span("APNs", .client, after: trace) }
        state.inFlight[ticket] = flight
        return request
      }
    }
    if let failure {
      environment.log("\(requests.count) pushes returned to the queue: \(failure)")
      state.withLock { state in
        state.unsettled += requests.map { PushResult(ticket: $0.ticket, outcome: .unprocessed(failure)) }
      }
      notifier.signal.notify()
    } else {
      sender.submit(requests, to: route)
    }
  }

  // MARK: Waiting

  /// Returns the time until the next push is due, at most `pollMs`.
  private func pauseMs() async throws -> Int64 {
    let nowMs = environment.nowMs()
    let nextMs = try await store.readSingle { transaction in
      try notifier.allRoutes.values.compactMap { id in
        try transaction.queryOne(Self.nextSQL, [.integer(id)]) { try $0.integer(0) }
      }.min()
    }
    guard let nextMs else { return limits.pollMs }
    // A push that is already due waits for its route, whose pool signals free capacity.
    return nextMs > nowMs ? min(nextMs - nowMs, limits.pollMs) : limits.pollMs
  }

  static let nextSQL = """
    SELECT due_ms FROM pushes WHERE route_id = $1 AND state = 0 ORDER BY due_ms LIMIT 1
    """
}
