import APNs
import CampanileStore

/// Takes due pushes out of the queue, in the transaction of a dispatcher's round.
struct PushTaking {
  /// How many pushes of an app and environment may be taken.
  struct Share: Sendable, Hashable {
    var key: PushRouteKey
    var routeID: Int64
    var limit: Int
  }

  static let dueSQL = """
    SELECT \(TakenPush.columns) FROM pushes WHERE route_id = $1 AND state = 0 AND due_ms <= $2
    ORDER BY due_ms, lane LIMIT $3
    """
  static let takeSQL = "UPDATE pushes SET state = 1, priority = $1 WHERE lane = $2 AND apns_id = $3 AND state = 0"
  static let budgetSQL = "SELECT level_thousandths, updated_at_ms FROM push_budgets WHERE lane = $1"
  static let setBudgetSQL = """
    INSERT INTO push_budgets (lane, level_thousandths, updated_at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (lane) DO UPDATE SET level_thousandths = excluded.level_thousandths,
      updated_at_ms = excluded.updated_at_ms
    """

  let transaction: WriteTransaction
  let registry: any PushTokenRegistry
  let settling: PushSettling
  let budget: PriorityBudget.Limits
  let nowMs: Int64

  /// The pushes to send now. Those that have expired or whose token is gone are settled instead.
  ///
  /// At most `room`, of which none may take more than half of what those before it have left: routes that answer slowly leave
  /// something for the others.
  func take(_ shares: [Share], room: Int) throws -> [TakenPush] {
    var taken: [TakenPush] = []
    for share in shares {
      let limit = min(share.limit, (room - taken.count + 1) / 2)
      guard limit > 0 else { continue }
      let rows = try transaction.query(
        Self.dueSQL, [.integer(share.routeID), .integer(nowMs), .int(limit)], rowsMax: limit
      ) { try TakenPush($0, route: share.key, routeID: share.routeID) }
      for row in rows {
        var push = row
        if let expirationMs = push.expirationMs, expirationMs <= nowMs, expirationMs > 0 {
          try settling.end(push, .expired, status: 0, reason: "Expired", measure: .expired)
          continue
        }
        if case .token(let id) = push.target {
          guard let found = try registry.token(id, in: transaction) else {
            try settling.end(push, .withoutToken, status: 0, reason: "TokenGone", measure: .withoutToken)
            continue
          }
          push.token = found.token
        }
        if push.priority == .automatic { push.priority = try priority(of: push) }
        try transaction.execute(
          Self.takeSQL, [.integer(push.priority.rawValue), .text(push.lane), .text(push.apnsID)])
        taken.append(push)
      }
    }
    return taken
  }

  private func priority(of push: TakenPush) throws -> PushPriority {
    // These ask no budget.
    if push.kind == .alert { return .high }
    if push.kind == .background { return .low }
    let found = try transaction.queryOne(Self.budgetSQL, [.text(push.lane)]) {
      PriorityBudget(levelThousandths: try $0.integer(0), updatedAtMs: try $0.integer(1))
    }
    var state = found ?? PriorityBudget(nowMs: nowMs, limits: budget)
    let priority = state.priority(of: push.kind, nowMs: nowMs, limits: budget)
    // An empty bucket need not be written: it refills from the time that stands there.
    if priority == .high {
      try transaction.execute(
        Self.setBudgetSQL, [.text(push.lane), .integer(state.levelThousandths), .integer(state.updatedAtMs)])
    }
    return priority
  }
}
