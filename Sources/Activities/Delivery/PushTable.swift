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
  static let rerouteSQL = "UPDATE pushes SET route_id = $2 WHERE lane = $1 AND state <> 1"
  static let laneSQL = "SELECT count(*), max(apns_id) FROM pushes WHERE lane = $1"
  static let waitingSQL = "SELECT count(*) FROM pushes WHERE lane = $1 AND kind IN (2, 6, 7) AND state <> 1"
  static let promoteSQL = """
    UPDATE pushes SET state = 0, due_ms = CASE WHEN due_ms > $2 THEN due_ms ELSE $2 END
    WHERE lane = $1 AND state = 2 AND apns_id = (SELECT min(apns_id) FROM pushes WHERE lane = $1)
    """
  /// All lanes, and whether a push waits there behind another. Scans the queue, so it only runs at startup.
  static let lanesSQL = "SELECT lane, max(CASE WHEN state = 2 THEN 1 ELSE 0 END) FROM pushes GROUP BY lane LIMIT $1"

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

  /// Returns the number of pushes that wait or are in flight.
  static func count(_ transaction: ReadTransaction) throws -> Int64 {
    try transaction.queryOne("SELECT count(*) FROM pushes") { try $0.integer(0) } ?? 0
  }

  /// Returns the number of pushes of a lane that wait or are in flight.
  static func count(lane: String, _ notifier: DeliveryNotifier, _ transaction: ReadTransaction) throws -> Int64 {
    try ofLane(lane, notifier, transaction).count
  }

  static func ofLane(
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
}

extension PushTarget {
  /// The token's id; nil for a channel.
  var tokenID: String? {
    if case .token(let id) = self { id } else { nil }
  }

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
