import APNs
import CampanileBase
import CampanileRPC
import CampanileStore

/// The state of a queued push. Raw values are stored in the database.
enum PushState: Int64, Sendable {
  /// The first of its lane, to be sent when it is due.
  case ready = 0
  /// In flight. A new process finds such rows of an earlier process and sends the pushes again.
  case taken = 1
  /// Behind another push of its lane.
  case behind = 2
}

/// The table `pushes`.
enum PushTable {
  static let replaceSQL = """
    UPDATE pushes SET apns_id = $1, route_id = $2, user_id = $3, target_kind = $4, target_id = $5, push_type = $6,
      priority = $7, payload = $8, expiration_ms = $9, collapse_id = $10, trace_parent = $11,
      due_ms = CASE WHEN attempts > 0 AND due_ms > $12 THEN due_ms ELSE $12 END, queued_at_ms = $13, attempts = 0,
      is_renewed = 0, last_reason = NULL
    WHERE lane = $14 AND kind = $15 AND target_id = $5 AND state <> 1
    """
  static let insertSQL = """
    INSERT INTO pushes (lane, apns_id, state, route_id, kind, user_id, activity_id, target_kind, target_id, push_type,
      priority, payload, expiration_ms, collapse_id, trace_parent, due_ms, queued_at_ms, attempts, is_renewed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0, 0)
    """
  static let deleteStatesSQL = "DELETE FROM pushes WHERE lane = $1 AND kind = $2 AND target_id = $3 AND state <> 1"
  static let laneSQL = "SELECT count(*), max(apns_id) FROM pushes WHERE lane = $1"
  static let waitingSQL = "SELECT count(*) FROM pushes WHERE lane = $1 AND kind IN (2, 6) AND state <> 1"
  static let promoteSQL = """
    UPDATE pushes SET state = 0, due_ms = CASE WHEN due_ms > $2 THEN due_ms ELSE $2 END
    WHERE lane = $1 AND state = 2 AND apns_id = (SELECT min(apns_id) FROM pushes WHERE lane = $1)
    """
  /// All lanes, and whether a push waits there behind another. Scans the queue, so it only runs at startup.
  static let lanesSQL = "SELECT lane, max(CASE WHEN state = 2 THEN 1 ELSE 0 END) FROM pushes GROUP BY lane LIMIT $1"

  static func enqueue(
    _ order: PushOrder, isAdmitted: Bool, queue: PushQueue, in transaction: WriteTransaction
  ) throws -> String {
    let nowMs = queue.nowMs()
    let lane = order.lane.text
    let key = PushRouteKey(app: order.app, environment: order.environment)
    let routeID = try routeID(key, queue: queue, in: transaction)
    var dueMs = order.dueMs
    if order.kind.isState {
      dueMs = max(
        dueMs, queue.notifier.notBeforeMs(lane: lane, nowMs: nowMs, spacingMs: queue.limits.updateSpacingMs))
    }
    var (count, lastID) = try ofLane(lane, queue.notifier, transaction)
    // Usually the lane is empty and there is nothing to replace.
    if count > 0, order.kind.isState {
      let id = queue.ids.next(after: lastID)
      if try replace(order, lane: lane, id: id, routeID: routeID, dueMs: dueMs, nowMs: nowMs, in: transaction) {
        try queue.notifier.count(.coalesced, app: order.app, atMs: nowMs, in: transaction)
        if dueMs <= nowMs { queue.notifier.mustLook() }
        return id
      }
    } else if count > 0, order.kind == .end {
      try dropStates(order, lane: lane, queue: queue, nowMs: nowMs, in: transaction)
      (count, lastID) = try ofLane(lane, queue.notifier, transaction)
    }
    if !isAdmitted { try queue.checkRoom(order.kind, waitingInLane: count) }
    let id = queue.ids.next(after: lastID)
    let state: PushState = count == 0 ? .ready : .behind
    try transaction.execute(
      insertSQL,
      [
        .text(lane), .text(id), .integer(state.rawValue), .integer(routeID), .integer(order.kind.rawValue),
        .text(order.userID), .text(order.activityID), .integer(order.target.kindNumber), .text(order.target.id),
        .text(order.pushType.rawValue), .integer(order.priority.rawValue), .blob(order.payload),
        .integer(order.expirationMs), .text(order.collapseID), .text(order.traceParent), .integer(dueMs),
        .integer(nowMs),
      ])
    queue.notifier.hint { $0.added(lane: lane, isBehind: state == .behind) }
    queue.notifier.queued(1)
    return id
  }

  private static func replace(
    _ order: PushOrder, lane: String, id: String, routeID: Int64, dueMs: Int64, nowMs: Int64,
    in transaction: WriteTransaction
  ) throws -> Bool {
    try transaction.execute(
      replaceSQL,
      [
        .text(id), .integer(routeID), .text(order.userID), .integer(order.target.kindNumber), .text(order.target.id),
        .text(order.pushType.rawValue), .integer(order.priority.rawValue), .blob(order.payload),
        .integer(order.expirationMs), .text(order.collapseID), .text(order.traceParent), .integer(dueMs),
        .integer(nowMs), .text(lane), .integer(order.kind.rawValue),
      ]) > 0
  }

  /// Deletes the unsent updates of a lane, which an end makes obsolete.
  private static func dropStates(
    _ order: PushOrder, lane: String, queue: PushQueue, nowMs: Int64, in transaction: WriteTransaction
  ) throws {
    let dropped = try transaction.execute(
      deleteStatesSQL, [.text(lane), .integer(PushKind.update.rawValue), .text(order.target.id)])
    guard dropped > 0 else { return }
    queue.notifier.queued(-Int64(dropped))
    try queue.notifier.count(.coalesced, app: order.app, atMs: nowMs, by: Int64(dropped), in: transaction)
    try promote(lane: lane, notBeforeMs: nowMs, queue.notifier, in: transaction)
  }

  /// Promotes the first remaining push of a lane after another one has left, unless a push of the lane is in flight.
  ///
  /// Most lanes hold no further push.
  static func promote(
    lane: String, notBeforeMs: Int64, _ notifier: DeliveryNotifier, in transaction: WriteTransaction
  ) throws {
    if notifier.mayHoldMore(lane: lane) {
      try transaction.execute(promoteSQL, [.text(lane), .integer(notBeforeMs)])
      guard try count(lane: lane, notifier, transaction) == 0 else { return }
    }
    if !transaction.usesSavepoint { notifier.hint { $0.foundEmpty(lane: lane) } }
  }

  /// Returns the number of pushes of a lane that wait or are in flight.
  static func count(lane: String, _ notifier: DeliveryNotifier, _ transaction: ReadTransaction) throws -> Int64 {
    try ofLane(lane, notifier, transaction).count
  }

  private static func ofLane(
    _ lane: String, _ notifier: DeliveryNotifier, _ transaction: ReadTransaction
  ) throws -> (count: Int64, lastID: String?) {
    guard notifier.mayHold(lane: lane) else { return (0, nil) }
    return try transaction.queryOne(laneSQL, [.text(lane)]) { (try $0.integer(0), try $0.textIfPresent(1)) }
      ?? (0, nil)
  }

  /// Returns whether a state is waiting that a newer one would replace.
  static func hasWaitingState(_ kind: PushKind, lane: String, _ transaction: ReadTransaction) throws -> Bool {
    guard kind.isState || kind == .end else { return false }
    return try transaction.queryOne(waitingSQL, [.text(lane)]) { try $0.integer(0) } ?? 0 > 0
  }

  /// Returns all routes, for the dispatcher.
  static func routes(_ transaction: ReadTransaction) throws -> [PushRouteKey: Int64] {
    let routes = try transaction.query("SELECT id, app, environment FROM push_routes") { row in
      (PushRouteKey(app: try row.text(1), environment: try row.text(2)), try row.integer(0))
    }
    return Dictionary(routes) { $1 }
  }

  static func routeID(_ key: PushRouteKey, queue: PushQueue, in transaction: WriteTransaction) throws -> Int64 {
    if let known = queue.notifier.knownRoute(key) { return known }
    let found = try transaction.queryOne(
      "SELECT id FROM push_routes WHERE app = $1 AND environment = $2", [.text(key.app), .text(key.environment)]
    ) { try $0.integer(0) }
    if let found {
      queue.notifier.seen(key, id: found)
      return found
    }
    let last = try transaction.queryOne("SELECT max(id) FROM push_routes") { try $0.integerIfPresent(0) } ?? nil
    guard (last ?? 0) < queue.limits.routesMax else {
      throw RPCError(
        .resourceExhausted, "there are too many apps", reason: "PUSH_ROUTES_EXHAUSTED",
        errorMetadata: ["limit": "\(queue.limits.routesMax)"])
    }
    let id = (last ?? 0) + 1
    try transaction.execute(
      "INSERT INTO push_routes (id, app, environment) VALUES ($1, $2, $3)",
      [.integer(id), .text(key.app), .text(key.environment)])
    queue.notifier.addedRoute()
    return id
  }
}

extension PushTarget {
  var kindNumber: Int64 {
    switch self {
    case .token: 1
    case .channel: 2
    }
  }

  var id: String {
    switch self {
    case .token(let id), .channel(let id): id
    }
  }
}
