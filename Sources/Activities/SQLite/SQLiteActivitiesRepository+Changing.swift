import APNs
import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  func change(
    _ id: String, user: String, _ decide: @escaping @Sendable (StoredActivity, Int64) throws -> ActivityChange?
  ) async throws -> StoredActivity {
    try await storeWrite { transaction in
      let activity = try find(id, user: user, transaction)
      guard activity.isLive else { throw RPCError.activityEnded() }
      guard let change = try decide(activity, clockMs()) else { return activity }
      return try apply(change, to: activity, transaction)
    }
  }

  func change(
    _ entries: [(id: String, path: String, change: Result<ActivityChange, RPCError>)], user: String
  ) async throws -> [Result<StoredActivity, RPCError>] {
    try await storeWrite { transaction in
      var results: [Result<StoredActivity, RPCError>] = []
      results.reserveCapacity(entries.count)
      for entry in entries {
        do {
          // A refused entry has changed nothing: `apply` checks first.
          let activity = try find(entry.id, user: user, transaction)
          results.append(.success(try apply(entry.change.get(), to: activity, transaction)))
        } catch let failure as RPCError {
          results.append(.failure(failure.inside(entry.path)))
        }
      }
      return results
    }
  }

  /// Keeps a change with its push and its log entry. All checks come before the first change.
  func apply(
    _ change: ActivityChange, to old: StoredActivity, _ transaction: WriteTransaction
  ) throws -> StoredActivity {
    guard Etag.allows(change.etag, version: old.version) else {
      throw RPCError.etagMismatch(field: "etag", current: Etag.text(version: old.version))
    }
    guard old.isLive else { throw RPCError.activityEnded() }
    let nowMs = clockMs()
    var activity = old
    activity.version += 1
    activity.updatedMs = max(nowMs, old.updatedMs)
    activity.apsTimestamp = PushClock.next(after: old.apsTimestamp, nowMs: nowMs)
    if let state = change.contentState { activity.contentState = state }
    if let score = change.relevanceScore { activity.relevanceScore = score }
    // It belongs to the state that it came with.
    activity.staleMs = change.staleMs
    if let driver = change.driver { activity.driver = driver }
    let payload = try payload(change, of: activity, nowMs: nowMs)
    if let end = change.end {
      try ActivityRow.writeState(activity, transaction)
      return try finish(activity, end, payload, change, transaction)
    }
    try ActivityRow.writeState(activity, transaction)
    if activity.driver != old.driver { try setDriverTimers(activity, transaction) }
    if activity.status == .active {
      try push(payload, change.alert == nil ? .update : .alert, of: activity, change, transaction)
    }
    try transaction.log(.updated, activity, atMs: nowMs, board)
    return activity
  }

  /// Throws INVALID_ARGUMENT, reason `PAYLOAD_TOO_LARGE`.
  func payload(_ change: ActivityChange, of activity: StoredActivity, nowMs: Int64) throws -> [UInt8] {
    let payload = PushPayload(
      event: change.end == nil ? .update : .end, timestamp: activity.apsTimestamp,
      contentState: activity.contentState.json, staleMs: activity.staleMs, relevanceScore: activity.relevanceScore,
      dismissalSeconds: change.end?.dismissal.seconds(endMs: nowMs), alert: change.alert
    ).bytes()
    let limit =
      activity.channelID.isEmpty ? APNsLimits.payloadBytesMax : APNsLimits.largePayloadBytesMax
    guard payload.count <= limit else {
      throw RPCError.payloadTooLarge("contentState", sizeBytes: payload.count, limit: limit)
    }
    return payload
  }

  /// Queues a push to every device that shows the activity, or to its channel.
  func push(
    _ payload: [UInt8], _ kind: PushKind, of activity: StoredActivity, _ change: ActivityChange,
    _ transaction: WriteTransaction
  ) throws {
    let nowMs = clockMs()
    // Until it would be gone from the Lock Screen APNs keeps the newest for a device that is off.
    let expirationMs = (activity.endedMs ?? activity.expireMs) + Int64(APNsLimits.dismissalSecondsMax) * 1_000
    func order(_ lane: PushLane, _ kind: PushKind, _ target: PushTarget) -> PushOrder {
      PushOrder(
        lane: lane, kind: kind, userID: activity.user, activityID: activity.id, target: target, app: activity.app,
        environment: activity.environment, pushType: .liveactivity, priority: change.priority, payload: payload,
        expirationMs: expirationMs, traceParent: change.traceParent, dueMs: nowMs)
    }
    if !activity.channelID.isEmpty {
      let lane = PushLane.channel(activity.channelID)
      _ = try queue.enqueue(order(lane, .broadcast, .channel(activity.channelID)), in: transaction)
      return
    }
    for id in activity.tokenIDs {
      // The token's row stays the same when the device gets another token: it stands for the activity on one device.
      _ = try queue.enqueue(order(.activity(id), kind, .token(id)), in: transaction)
    }
  }
}
