import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  static let insertEndSQL = """
    INSERT INTO scheduled_ends (user_id, id, request_json) VALUES ($1, $2, $3)
    ON CONFLICT (user_id, id) DO UPDATE SET request_json = excluded.request_json
    """
  static let endSQL = "SELECT request_json FROM scheduled_ends WHERE user_id = $1 AND id = $2"
  static let deleteEndSQL = "DELETE FROM scheduled_ends WHERE user_id = $1 AND id = $2"

  func end(_ request: EndActivityRequest, _ end: PlannedEnd, user: String) async throws -> StoredActivity {
    try await write { transaction in
      let activity = try find(request.activityId, user: user, transaction)
      guard activity.isLive else { return activity }
      guard let endAtMs = end.endAtMs else { return try apply(end.change, to: activity, transaction) }
      return try plan(request, end.change, of: activity, atMs: endAtMs, transaction)
    }
  }

  private func plan(
    _ request: EndActivityRequest, _ change: StateChange, of old: StoredActivity, atMs: Int64,
    _ transaction: WriteTransaction
  ) throws -> StoredActivity {
    guard Etag.allows(change.etag, version: old.version) else {
      throw RPCError.etagMismatch(field: "etag", current: Etag.text(version: old.version))
    }
    guard atMs > old.startMs, atMs <= old.startMs + Self.lifetimeMs || old.renews else {
      throw RPCError.invalidField("endTime", "must be within 8 h of the activity's start", .outOfRange)
    }
    var activity = old
    if let state = change.contentState { activity.contentState = state }
    _ = try payload(change, of: activity, nowMs: atMs)
    activity = old
    activity.version += 1
    activity.scheduledEndMs = atMs
    var kept = request
    (kept.etag, kept.endTime) = ("", nil)
    try transaction.execute(
      Self.insertEndSQL, [.text(old.user), .text(old.id), .text(kept.jsonString())])
    try ActivityRow.writeLife(activity, transaction)
    try setTimer(.end, activity, dueMs: atMs, transaction)
    try transaction.log(.updated, activity, atMs: clockMs(), notifier)
    return activity
  }

  /// Ends an activity with its newest state.
  func end(
    _ activity: StoredActivity, _ end: StateChange.End, _ transaction: WriteTransaction
  ) throws -> StoredActivity {
    try apply(StateChange(priority: .high, end: end), to: activity, transaction)
  }

  /// Completes an end after its state was written: pushes, tokens, timers, counters.
  func finish(
    _ current: StoredActivity, _ end: StateChange.End, _ payload: [UInt8], _ change: StateChange,
    _ transaction: WriteTransaction
  ) throws -> StoredActivity {
    let nowMs = clockMs()
    var activity = current
    activity.endedMs = nowMs
    let hasStarted = current.status != .scheduled && current.status != .pending
    activity.endReason = !hasStarted && end.reason == .requested ? .cancelled : end.reason
    activity.status = .ended
    activity.scheduledEndMs = nil
    var last = change
    last.priority = .high
    if current.endIsPushed { try stateWriter.push(payload, .end, of: activity, last, transaction) }
    try releaseTokens(of: current, nowMs: nowMs, transaction)
    activity.tokenIDs = []
    try ActivityRow.writeLife(activity, transaction)
    try transaction.clearTimers(of: activity.id, user: activity.user)
    try transaction.execute(Self.deleteEndSQL, [.text(activity.user), .text(activity.id)])
    try count(activities: -1, user: activity.user, transaction)
    try transaction.log(.ended, activity, atMs: nowMs, notifier)
    return activity
  }

  static let liveSQL = """
    SELECT \(ActivityRow.columns) FROM activities WHERE user_id = $1 AND ended_at_ms IS NULL
    ORDER BY created_at_ms, id LIMIT $2
    """

  func endAll(user: String, idempotency: IdempotentRequest?) async throws -> EndAllActivitiesResponse {
    let batch = max(1, min(100, limits.batchEntriesMax))
    var ended = 0
    // Bounded by the maximum number of live activities.
    for _ in 0...(limits.activitiesPerUserMax / batch) {
      let before = ended
      let (count, response) = try await write { transaction in
        if before == 0, let reply = try storedReply(EndAllActivitiesResponse.self, idempotency, transaction) {
          return (0, reply)
        }
        let live = try transaction.query(Self.liveSQL, [.text(user), .int(batch)], ActivityRow.activity)
        for activity in live {
          _ = try end(activity, .init(reason: .requested, dismissal: .immediate), transaction)
        }
        let response = EndAllActivitiesResponse(endedCount: Int32(clamping: before + live.count))
        if live.count < batch { try storeReply(response, idempotency, transaction) }
        return (live.count, response)
      }
      if count < batch { return response }
      ended += count
    }
    return EndAllActivitiesResponse(endedCount: Int32(clamping: ended))
  }
}
