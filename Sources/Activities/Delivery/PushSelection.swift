import APNs
import CampanileStore

/// Takes due pushes from the queue, in the transaction of a dispatcher's round.
struct PushSelection {
  /// The number of pushes of an app and environment that may be taken.
  struct Share: Sendable, Hashable {
    var key: PushRouteKey
    var routeID: Int64
    var limit: Int
  }

  static let dueSQL = """
    SELECT \(ClaimedPush.columns), b.level_thousandths, b.updated_at_ms
    FROM pushes AS p LEFT JOIN push_budgets AS b ON b.lane = p.lane
    WHERE p.route_id = $1 AND p.state = 0 AND p.due_ms <= $2 ORDER BY p.due_ms, p.lane LIMIT $3
    """
  static let postponeSQL = "UPDATE pushes SET due_ms = $1 WHERE lane = $2 AND apns_id = $3 AND state = 0"
  static let takeSQL = "UPDATE pushes SET state = 1, priority = $1 WHERE lane = $2 AND apns_id = $3 AND state = 0"
  static let setBudgetSQL = """
    INSERT INTO push_budgets (lane, level_thousandths, updated_at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (lane) DO UPDATE SET level_thousandths = excluded.level_thousandths,
      updated_at_ms = excluded.updated_at_ms
    """

  let transaction: WriteTransaction
  let registry: any PushTokenRegistry
  let completion: PushCompletion
  let budget: PriorityBudget.Limits
  /// For tokens whose user allows frequent updates.
  let frequentBudget: PriorityBudget.Limits
  let nowMs: Int64

  /// Returns the pushes to send now. Pushes that have expired or have no token are settled instead.
  ///
  /// Takes at most `room` pushes. Each share gets at most half of what the previous ones left, so that slow routes
  /// leave room for others.
  func take(_ shares: [Share], room: Int) throws -> [ClaimedPush] {
    var taken: [ClaimedPush] = []
    for share in shares {
      let limit = min(share.limit, (room - taken.count + 1) / 2)
      guard limit > 0 else { continue }
      let rows = try transaction.query(
        Self.dueSQL, [.integer(share.routeID), .integer(nowMs), .int(limit)], rowsMax: limit
      ) { row in
        (try ClaimedPush(row, route: share.key, routeID: share.routeID), try Self.budget(row))
      }
      for (row, kept) in rows {
        if try postpone(row) { continue }
        var push = row
        var limits = budget
        if let expirationMs = push.order.expirationMs, expirationMs <= nowMs, expirationMs > 0 {
          try completion.end(push, .expired, status: 0, reason: "Expired", measure: .expired)
          continue
        }
        if case .token(let id) = push.order.target {
          guard let found = try registry.token(id, in: transaction) else {
            try completion.end(push, .withoutToken, status: 0, reason: "TokenGone", measure: .withoutToken)
            continue
          }
          push.token = found.token
          if found.hasFrequentPushes { limits = frequentBudget }
        }
        if push.order.priority == .automatic { push.order.priority = try priority(of: push, kept, limits) }
        try transaction.execute(
          Self.takeSQL, [.integer(push.order.priority.rawValue), .text(push.order.lane), .text(push.apnsID)])
        taken.append(push)
      }
    }
    return taken
  }

  /// Postpones a state that follows the lane's last one too soon. Returns whether it has.
  ///
  /// The process that queues a push knows the last one only if it also sends the pushes. On SQLite, it always does.
  private func postpone(_ push: ClaimedPush) throws -> Bool {
    guard push.order.kind.isState, try transaction.dialect == .postgreSQL else { return false }
    let dueMs = completion.notifier.notBeforeMs(
      lane: push.order.lane, nowMs: nowMs, spacingMs: completion.limits.updateSpacingMs)
    guard dueMs > nowMs else { return false }
    try transaction.execute(Self.postponeSQL, [.integer(dueMs), .text(push.order.lane), .text(push.apnsID)])
    return true
  }

  /// Reads the lane's stored budget; nil if it is full. It is current, because a lane has only one ready row.
  private static func budget(_ row: borrowing SQLRow) throws -> PriorityBudget? {
    guard let level = try row.integerIfPresent(ClaimedPush.columnCount) else { return nil }
    return PriorityBudget(levelThousandths: level, updatedAtMs: try row.integer(ClaimedPush.columnCount + 1))
  }

  private func priority(
    of push: ClaimedPush, _ kept: PriorityBudget?, _ limits: PriorityBudget.Limits
  ) throws -> PushPriority {
    // These kinds do not use the budget.
    if push.order.kind == .alert { return .high }
    if push.order.kind == .background { return .low }
    var state = kept ?? PriorityBudget(nowMs: nowMs, limits: limits)
    let priority = state.priority(of: push.order.kind, nowMs: nowMs, limits: limits)
    // An empty bucket need not be written: it refills from the stored time.
    if priority == .high {
      try transaction.execute(
        Self.setBudgetSQL, [.text(push.order.lane), .integer(state.levelThousandths), .integer(state.updatedAtMs)])
    }
    return priority
  }
}
