import APNs
import CampanileBase
import CampanileRPC
import CampanileStore

/// The queue of pushes, for code that changes activities.
struct PushQueue: Sendable {
  let limits: DeliveryLimits
  let notifier: DeliveryNotifier
  let ids: PushIDGenerator
  let nowMs: @Sendable () -> Int64

  /// Queues a push in the transaction of the change it reports.
  ///
  /// - Parameter isAdmitted: Whether `admit` found room for the push, which is then never rejected.
  /// - Returns: The `apns-id`, which stays the same for every attempt.
  /// - Throws: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`, if the queue or the lane is full.
  @discardableResult
  func enqueue(_ order: PushOrder, isAdmitted: Bool = false, in transaction: WriteTransaction) throws -> String {
    let nowMs = nowMs()
    let routeID = try routeID(of: order.route, in: transaction)
    var dueMs = nowMs
    if order.kind.isState {
      dueMs = max(dueMs, notifier.notBeforeMs(lane: order.lane, nowMs: nowMs, spacingMs: limits.updateSpacingMs))
    }
    var (count, lastID) = try PushTable.ofLane(order.lane, notifier, transaction)
    // Usually the lane is empty and there is nothing to replace.
    if count > 0, order.kind.isState {
      let id = ids.next(after: lastID)
      if try replace(order, id: id, routeID: routeID, dueMs: dueMs, nowMs: nowMs, in: transaction) {
        try notifier.count(.coalesced, app: order.route.app, atMs: nowMs, in: transaction)
        if dueMs <= nowMs { notifier.mustLook() }
        return id
      }
    } else if count > 0, order.kind == .end {
      try dropStates(lane: order.lane, tokenID: order.target.id, app: order.route.app, in: transaction)
      (count, lastID) = try PushTable.ofLane(order.lane, notifier, transaction)
    }
    if !isAdmitted { try checkRoom(order.kind, waitingInLane: count) }
    let id = ids.next(after: lastID)
    let payload = order.receipt?.adding(to: order.payload, pushID: id) ?? order.payload
    let state: PushState = count == 0 ? .ready : .behind
    try transaction.execute(
      PushTable.insertSQL,
      [
        .text(order.lane), .text(id), .integer(state.rawValue), .integer(routeID), .integer(order.kind.rawValue),
        .text(order.userID), .text(order.activityID), .integer(order.target.kindNumber), .text(order.target.id),
        .text(order.pushType.rawValue), .integer(order.priority.rawValue), .blob(payload),
        .integer(order.expirationMs), .text(order.collapseID), .text(order.traceParent), .integer(dueMs),
        .integer(nowMs),
      ])
    notifier.hint { $0.added(lane: order.lane, isBehind: state == .behind) }
    notifier.queued(1)
    return id
  }

  private func replace(
    _ order: PushOrder, id: String, routeID: Int64, dueMs: Int64, nowMs: Int64, in transaction: WriteTransaction
  ) throws -> Bool {
    try transaction.executeCounting(
      PushTable.replaceSQL,
      [
        .text(id), .integer(routeID), .text(order.userID), .integer(order.target.kindNumber), .text(order.target.id),
        .text(order.pushType.rawValue), .integer(order.priority.rawValue), .blob(order.payload),
        .integer(order.expirationMs), .text(order.collapseID), .text(order.traceParent), .integer(dueMs),
        .integer(nowMs), .text(order.lane), .integer(order.kind.rawValue),
      ]) > 0
  }

  /// Deletes the unsent updates of a token, which an end or another token makes obsolete.
  func dropStates(lane: String, tokenID: String, app: String, in transaction: WriteTransaction) throws {
    let nowMs = nowMs()
    let dropped = try transaction.executeCounting(
      PushTable.deleteStatesSQL, [.text(lane), .integer(PushKind.update.rawValue), .text(tokenID)])
    guard dropped > 0 else { return }
    notifier.queued(-Int64(dropped))
    try notifier.count(.coalesced, app: app, atMs: nowMs, by: Int64(dropped), in: transaction)
    try PushTable.promote(lane: lane, notBeforeMs: nowMs, notifier, in: transaction)
  }

  /// Sends the unsent pushes of a lane over another route, because its token belongs to another environment now.
  func reroute(lane: String, to route: PushRouteKey, in transaction: WriteTransaction) throws {
    let id = try routeID(of: route, in: transaction)
    try transaction.execute(PushTable.rerouteSQL, [.text(lane), .integer(id)])
  }

  /// Checks that a push to each of these lanes fits. A push that replaces a waiting one needs no room.
  ///
  /// - Parameter admitted: The number of pushes that were admitted but not yet queued.
  /// - Throws: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`.
  func admit(
    _ kind: PushKind, to lanes: [PushLane], besides admitted: Int, in transaction: ReadTransaction
  ) throws {
    if !kind.isBoundedByLane {
      for lane in lanes { try checkRoom(kind, waitingInLane: PushTable.count(lane: lane.text, notifier, transaction)) }
    }
    let taken = notifier.queuedCount + Int64(admitted)
    guard taken + Int64(lanes.count) > limits.queuedMax else { return }
    let isFull = try lanes.contains { lane in try !PushTable.hasWaitingState(kind, lane: lane.text, transaction) }
    if isFull { throw Self.exhausted(limits.queuedMax) }
  }

  /// Returns the number of a route, which it adds if it is new. Throws RESOURCE_EXHAUSTED, reason
  /// `PUSH_ROUTES_EXHAUSTED`.
  @discardableResult
  func routeID(of key: PushRouteKey, in transaction: WriteTransaction) throws -> Int64 {
    if let known = notifier.knownRoute(key) { return known }
    let found = try transaction.queryOne(
      "SELECT id FROM push_routes WHERE app = $1 AND environment = $2", [.text(key.app), .text(key.environment)]
    ) { try $0.integer(0) }
    if let found {
      notifier.seen(key, id: found)
      return found
    }
    let last = try transaction.queryOne("SELECT max(id) FROM push_routes") { try $0.integerIfPresent(0) } ?? nil
    guard (last ?? 0) < limits.routesMax else {
      throw RPCError(
        .resourceExhausted, "there are too many apps", reason: "PUSH_ROUTES_EXHAUSTED",
        errorMetadata: ["limit": "\(limits.routesMax)"])
    }
    let id = (last ?? 0) + 1
    try transaction.execute(
      "INSERT INTO push_routes (id, app, environment) VALUES ($1, $2, $3)",
      [.integer(id), .text(key.app), .text(key.environment)])
    notifier.addedRoute()
    return id
  }

  /// Throws RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`, if one more push does not fit.
  private func checkRoom(_ kind: PushKind, waitingInLane count: Int64) throws(RPCError) {
    guard notifier.queuedCount < limits.queuedMax else { throw Self.exhausted(limits.queuedMax) }
    guard kind.isBoundedByLane || count < limits.queuedPerLaneMax else {
      throw Self.exhausted(Int64(limits.queuedPerLaneMax))
    }
  }

  private static func exhausted(_ limit: Int64) -> RPCError {
    RPCError(
      .resourceExhausted, "too many pushes are waiting", reason: "PUSHES_EXHAUSTED",
      errorMetadata: ["limit": "\(limit)"], retryAfterMs: 1_000)
  }
}
