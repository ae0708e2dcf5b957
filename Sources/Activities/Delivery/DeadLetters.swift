import CampanileStore

/// Statements that replay and delete dead letters.
enum DeadLetters {
  enum Replay: Sendable, Hashable { case replayed, superseded, unknown }

  static let findSQL = "SELECT lane, kind, target_id, route_id FROM dead_letters WHERE apns_id = $1"
  static let insertSQL = """
    INSERT INTO pushes (lane, apns_id, state, route_id, kind, user_id, activity_id, target_kind, target_id, push_type,
      priority, payload, expiration_ms, collapse_id, trace_parent, due_ms, queued_at_ms, attempts, is_renewed)
    SELECT lane, apns_id, $2, route_id, kind, user_id, activity_id, target_kind, target_id, push_type, priority, payload,
      expiration_ms, collapse_id, trace_parent, $3, $3, 0, 0
    FROM dead_letters WHERE apns_id = $1
    """
  static let anySQL = "SELECT 1 FROM dead_letters LIMIT 1"
  static let deleteSQL = "DELETE FROM dead_letters WHERE apns_id = $1"
  static let forgetSQL = "DELETE FROM push_ledger WHERE apns_id = $1"

  /// Queues a dead letter again under its id, ahead of younger pushes of its lane.
  ///
  /// A state is dropped if a newer one waits. If a newer state was accepted, the older one is no longer a dead letter.
  static func replay(
    _ apnsID: String, notifier: DeliveryNotifier, nowMs: Int64, in transaction: WriteTransaction
  ) throws -> Replay {
    let found = try transaction.queryOne(findSQL, [.text(apnsID)]) { row in
      (lane: try row.text(0), kind: PushKind(rawValue: try row.integer(1)), target: try row.text(2))
    }
    guard let found else { return .unknown }
    if found.kind?.isState == true {
      let isSuperseded = try transaction.queryOne(
        PushCompletion.newerStateSQL, [.text(found.lane), .text(apnsID), .text(found.target)]
      ) { _ in true }
      if isSuperseded == true {
        try transaction.execute(deleteSQL, [.text(apnsID)])
        return .superseded
      }
    }
    let count = try transaction.queryOne(PushTable.laneSQL, [.text(found.lane)]) { try $0.integer(0) } ?? 0
    let state: PushState = count == 0 ? .ready : .behind
    try transaction.execute(insertSQL, [.text(apnsID), .integer(state.rawValue), .integer(nowMs)])
    notifier.hint { $0.added(lane: found.lane, isBehind: state == .behind) }
    try transaction.execute(deleteSQL, [.text(apnsID)])
    // The push is open again.
    try transaction.execute(forgetSQL, [.text(apnsID)])
    notifier.queued(1)
    return .replayed
  }
}
