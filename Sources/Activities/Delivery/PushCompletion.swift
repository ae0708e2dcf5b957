import APNs
import CampanileStore

/// The final result of a push. Raw values are stored in the database; never reuse one.
enum DeliveryLogOutcome: Int64, Sendable, Hashable, CaseIterable {
  /// Accepted by APNs, which does not imply delivery.
  case accepted = 1
  /// Rejected because its token is no longer valid.
  case rejected = 2
  /// Given up; the push is a dead letter.
  case deadLetter = 3
  case expired = 4
  /// Not sent, because its token had been deleted or retired.
  case withoutToken = 5
  /// Replaced by a newer state after a failed attempt.
  case superseded = 6
}

/// Stores the results of pushes, in the transaction of a dispatcher's round.
struct PushCompletion {
  static let deleteSQL = "DELETE FROM pushes WHERE lane = $1 AND apns_id = $2"
  static let retrySQL = """
    UPDATE pushes SET state = 0, due_ms = $1, attempts = $2, is_renewed = $3, last_reason = $4
    WHERE lane = $5 AND apns_id = $6 AND state = 1
    """
  static let newerStateSQL = """
    SELECT 1 FROM pushes WHERE lane = $1 AND apns_id > $2 AND target_id = $3 AND kind IN (2, 3, 6) LIMIT 1
    """
  static let deliveryLogSQL = """
    INSERT INTO push_ledger (apns_id, route_id, user_id, activity_id, kind, push_type, priority, outcome, status, reason,
      attempts, queued_at_ms, settled_at_ms, latency_ms, trace_parent, target_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (apns_id) DO NOTHING
    """
  static let deadSQL = """
    INSERT INTO dead_letters (apns_id, lane, route_id, kind, user_id, activity_id, target_kind, target_id, push_type,
      priority, payload, expiration_ms, collapse_id, trace_parent, queued_at_ms, attempts, failed_at_ms, status, reason)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    ON CONFLICT (apns_id) DO NOTHING
    """
  static let deadStatesSQL =
    "DELETE FROM dead_letters WHERE lane = $1 AND apns_id < $2 AND target_id = $3 AND kind IN (2, 6)"

  let transaction: WriteTransaction
  let registry: any PushTokenRegistry
  let listener: (any PushListener)?
  let notifier: DeliveryNotifier
  let limits: DeliveryLimits
  let nowMs: Int64

  /// Applies a decision about one attempt.
  ///
  /// - Parameter retryAtMs: Time of the next attempt of a push that returns to the queue or needs a new provider token.
  func settle(_ push: ClaimedPush, _ decision: RetryRules.Decision, retryAtMs: Int64) throws {
    switch decision {
    case .accepted: try accept(push)
    case .retireToken(let reason, let rejectedAtMs):
      // Retire the token first, while the push is still in the token's lane.
      try retireToken(of: push, reason, rejectedAtMs: rejectedAtMs)
      try end(push, .rejected, status: reason.status, reason: reason.text, measure: .rejected(reason.text))
    case .giveUp(let reason): try giveUp(push, reason)
    case .retry(let afterMs, let reason):
      try count(.retried, push)
      try again(push, dueMs: nowMs + afterMs, attempts: push.attempts + 1, isRenewed: push.isRenewed, reason)
    case .renewToken:
      try again(push, dueMs: retryAtMs, attempts: push.attempts, isRenewed: true, APNsReason.expiredProviderToken.text)
    case .putBack(let reason):
      guard nowMs - push.queuedAtMs < limits.ageMaxMs else {
        return try giveUp(push, APNsReason(text: "NeverReached", status: 0))
      }
      try again(push, dueMs: retryAtMs, attempts: push.attempts, isRenewed: push.isRenewed, reason)
    }
  }

  /// Ends a push: deletes its row, adds it to the delivery log, and promotes the next push of its lane.
  func end(
    _ push: ClaimedPush, _ outcome: DeliveryLogOutcome, status: Int, reason: String, measure: StatisticsMeasure,
    notBeforeMs: Int64 = 0
  ) throws {
    guard try transaction.executeCounting(Self.deleteSQL, [.text(push.order.lane), .text(push.apnsID)]) > 0 else {
      return
    }
    notifier.queued(-1)
    let attempts = push.attempts + (push.sentAtMs > 0 ? 1 : 0)
    try transaction.execute(
      Self.deliveryLogSQL,
      [
        .text(push.apnsID), .integer(push.routeID), .text(push.order.userID), .text(push.order.activityID),
        .integer(push.order.kind.rawValue), .text(push.order.pushType.rawValue), .integer(push.order.priority.rawValue),
        .integer(outcome.rawValue), .int(status), .text(reason), .int(attempts), .integer(push.queuedAtMs),
        .integer(nowMs), .integer(push.sentAtMs > 0 ? max(0, nowMs - push.sentAtMs) : 0), .text(push.order.traceParent),
        .text(push.order.target.tokenID),
      ])
    notifier.ended(push.apnsID)
    try count(measure, push)
    try listener?.ended(push, outcome, reason: reason, atMs: nowMs, in: transaction)
    try PushTable.promote(lane: push.order.lane, notBeforeMs: notBeforeMs, notifier, in: transaction)
    notifier.mustLook()
  }

  private func accept(_ push: ClaimedPush) throws {
    var notBeforeMs: Int64 = 0
    if push.order.kind.isState {
      notifier.sent(lane: push.order.lane, atMs: nowMs, spacingMs: limits.updateSpacingMs)
      notBeforeMs = nowMs + limits.updateSpacingMs
    }
    try end(push, .accepted, status: 200, reason: "", measure: .accepted, notBeforeMs: notBeforeMs)
    try count(.latency(bucket: PushLatencyHistogram.bucket(nowMs - push.queuedAtMs)), push)
    // Older states that were given up must never be sent after this one.
    if notifier.mayHoldDeadLetters, push.order.kind.isState || push.order.kind == .end {
      try transaction.execute(
        Self.deadStatesSQL, [.text(push.order.lane), .text(push.apnsID), .text(push.order.target.id)])
    }
  }

  /// Retires the token of a rejected push, unless it was registered again since.
  private func retireToken(of push: ClaimedPush, _ reason: APNsReason, rejectedAtMs: Int64?) throws {
    guard case .token(let id) = push.order.target else { return }
    if try registry.retire(id, token: push.token, reason: reason, rejectedAtMs: rejectedAtMs, in: transaction) {
      try count(.retiredTokens, push)
    }
  }

  private func giveUp(_ push: ClaimedPush, _ reason: APNsReason) throws {
    try transaction.execute(
      Self.deadSQL,
      [
        .text(push.apnsID), .text(push.order.lane), .integer(push.routeID), .integer(push.order.kind.rawValue),
        .text(push.order.userID),
        .text(push.order.activityID), .integer(push.order.target.kindNumber), .text(push.order.target.id),
        .text(push.order.pushType.rawValue), .integer(push.order.priority.rawValue), .blob(push.order.payload),
        .integer(push.order.expirationMs), .text(push.order.collapseID), .text(push.order.traceParent),
        .integer(push.queuedAtMs),
        .int(push.attempts + 1), .integer(nowMs), .int(reason.status), .text(reason.text),
      ])
    notifier.hint { $0.addedDeadLetter() }
    try count(.rejected(reason.text), push)
    try end(push, .deadLetter, status: reason.status, reason: reason.text, measure: .deadLetters)
  }

  private func again(_ push: ClaimedPush, dueMs: Int64, attempts: Int, isRenewed: Bool, _ reason: String) throws {
    if push.order.kind.isState {
      let isSuperseded = try transaction.queryOne(
        Self.newerStateSQL, [.text(push.order.lane), .text(push.apnsID), .text(push.order.target.id)]
      ) { _ in
        true
      }
      if isSuperseded == true {
        // The newer state inherits the pause that APNs or the rules require.
        return try end(
          push, .superseded, status: 0, reason: String(reason.prefix(64)), measure: .coalesced, notBeforeMs: dueMs)
      }
    }
    try transaction.execute(
      Self.retrySQL,
      [
        .integer(dueMs), .int(attempts), .bool(isRenewed), .text(String(reason.prefix(200))), .text(push.order.lane),
        .text(push.apnsID),
      ])
  }

  private func count(_ measure: StatisticsMeasure, _ push: ClaimedPush) throws {
    try notifier.count(measure, app: push.order.route.app, atMs: nowMs, in: transaction)
  }
}
