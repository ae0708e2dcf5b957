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
    SELECT \(TakenPush.columns), b.level_thousandths, b.updated_at_ms
    FROM pushes AS p LEFT JOIN push_budgets AS b ON b.lane = p.lane
    WHERE p.route_id = $1 AND p.state = 0 AND p.due_ms <= $2 ORDER BY p.due_ms, p.lane LIMIT $3
    """
  static let takeSQL = "UPDATE pushes SET state = 1, priority = $1 WHERE lane = $2 AND apns_id = $3 AND state = 0"
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
      ) { row in
        (try TakenPush(row, route: share.key, routeID: share.routeID), try Self.budget(row))
      }
      for (row, kept) in rows {
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
        if push.priority == .automatic { push.priority = try priority(of: push, kept) }
        try transaction.execute(
          Self.takeSQL, [.integer(push.priority.rawValue), .text(push.lane), .text(push.apnsID)])
        taken.append(push)
      }
    }
    return taken
  }

  /// What is kept of the lane's budget; nil when it is full. A lane has one row that is ready, so that it is of now.
  private static func budget(_ row: borrowing SQLRow) throws -> PriorityBudget? {
    guard let level = try row.integerIfPresent(TakenPush.columnCount) else { return nil }
    return PriorityBudget(levelThousandths: level, updatedAtMs: try row.integer(TakenPush.columnCount + 1))
  }

  private func priority(of push: TakenPush, _ kept: PriorityBudget?) throws -> PushPriority {
    // These ask no budget.
    if push.kind == .alert { return .high }
    if push.kind == .background { return .low }
    var state = kept ?? PriorityBudget(nowMs: nowMs, limits: budget)
    let priority = state.priority(of: push.kind, nowMs: nowMs, limits: budget)
    // An empty bucket need not be written: it refills from the time that stands there.
    if priority == .high {
      try transaction.execute(
        Self.setBudgetSQL, [.text(push.lane), .integer(state.levelThousandths), .integer(state.updatedAtMs)])
    }
    return priority
  }
}
