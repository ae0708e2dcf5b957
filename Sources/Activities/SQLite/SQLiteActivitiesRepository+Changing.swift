import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  func update(_ id: String, user: String, _ change: ActivityChange) async throws -> StoredActivity {
    try await storeWrite { transaction in try update(id, user: user, change, transaction) }
  }

  func change(
    _ id: String, user: String, _ decide: @escaping @Sendable (StoredActivity, Int64) throws -> ActivityChange?
  ) async throws -> StoredActivity {
    try await storeWrite { transaction in
      // Decide before settling: a rejected change must not change a row.
      let pending = stateWriter.pending.entry(id, user: user)?.activity
      let activity = try pending ?? find(id, user: user, transaction)
      guard activity.isLive else { throw RPCError.activityEnded() }
      guard let change = try decide(activity, clockMs()) else { return activity }
      try stateWriter.settle(transaction)
      return try apply(change, to: pending == nil ? activity : find(id, user: user, transaction), transaction)
    }
  }

  func update(
    _ entries: [(id: String, path: String, change: Result<ActivityChange, RPCError>)], user: String
  ) async throws -> [Result<StoredActivity, RPCError>] {
    try await storeWrite { transaction in
      var results: [Result<StoredActivity, RPCError>] = []
      results.reserveCapacity(entries.count)
      var done: [Undo] = []
      do {
        for entry in entries {
          do {
            // All checks precede the first write, so that a rejected entry changes nothing.
            let change = try entry.change.get()
            results.append(.success(try update(entry.id, user: user, change, transaction) { done.append($0) }))
          } catch let failure as RPCError {
            results.append(.failure(failure.inside(entry.path)))
          }
        }
      } catch {
        // The store failed and so does this call, but other writes of the commit may still succeed.
        for undo in done.reversed() { stateWriter.pending.takeBack(undo.entry, to: undo.old) }
        throw error
      }
      return results
    }
  }

  /// A pending update and what was pending before it.
  private struct Undo {
    var entry: PendingUpdates.Entry
    var old: PendingUpdates.Entry?
  }

  /// Updates a live activity. A plain state change is coalesced until the commit; any other is written immediately.
  private func update(
    _ id: String, user: String, _ change: ActivityChange, _ transaction: WriteTransaction,
    noting: (Undo) -> Void = { _ in }
  ) throws -> StoredActivity {
    // A pending update of this commit is newer than the row.
    let pending = stateWriter.pending.entry(id, user: user)
    let old = try pending?.activity ?? find(id, user: user, transaction)
    guard old.isLive else { throw RPCError.activityEnded() }
    try UpdateRules.checkDriver(old, change)
    guard change.end == nil, change.alert == nil, !transaction.usesSavepoint else {
      try stateWriter.settle(transaction)
      return try apply(change, to: find(id, user: user, transaction), transaction)
    }
    let nowMs = clockMs()
    var activity = try changed(old, change, nowMs: nowMs)
    activity.apsTimestamp =
      pending == nil
      ? try stateWriter.timestamp(of: old, nowMs: nowMs, transaction) : max(old.apsTimestamp, nowMs / 1_000)
    let payload = try payload(change, of: activity, nowMs: nowMs)
    if pending == nil { try stateWriter.admit(.update, of: activity, transaction) }
    // Last, so that a failed update leaves no entry behind.
    let entry = PendingUpdates.Entry(activity: activity, change: change, payload: payload)
    noting(Undo(entry: entry, old: stateWriter.pending.put(entry)))
    return activity
  }

  /// Returns the activity after a change.
  ///
  /// - Throws: ABORTED, reason `ETAG_MISMATCH`; FAILED_PRECONDITION, reason `ACTIVITY_ENDED`.
  private func changed(
    _ old: StoredActivity, _ change: ActivityChange, nowMs: Int64
  ) throws(RPCError) -> StoredActivity {
    guard Etag.allows(change.etag, version: old.version) else {
      throw .etagMismatch(field: "etag", current: Etag.text(version: old.version))
    }
    guard old.isLive else { throw .activityEnded() }
    var activity = old
    activity.version += 1
    activity.updatedMs = max(nowMs, old.updatedMs)
    if let state = change.contentState { activity.contentState = state }
    if let score = change.relevanceScore { activity.relevanceScore = score }
    // The stale time belongs to the state it arrived with.
    activity.staleMs = change.staleMs
    if let driver = change.driver { activity.driver = driver }
    return activity
  }

  /// Stores a change with its push and its log entry. All checks precede the first write.
  func apply(
    _ change: ActivityChange, to old: StoredActivity, _ transaction: WriteTransaction
  ) throws -> StoredActivity {
    let nowMs = clockMs()
    var activity = try changed(old, change, nowMs: nowMs)
    activity.apsTimestamp = PushClock.next(after: old.apsTimestamp, nowMs: nowMs)
    let payload = try payload(change, of: activity, nowMs: nowMs)
    let kind: PushKind = change.end != nil ? .end : change.alert == nil ? .update : .alert
    try stateWriter.admit(kind, of: activity, transaction)
    try ActivityRow.writeState(activity, transaction)
    if let end = change.end { return try finish(activity, end, payload, change, transaction) }
    if activity.driver != old.driver { try setDriverTimers(activity, transaction) }
    if activity.status == .active {
      try stateWriter.push(payload, kind, of: activity, change, transaction)
    }
    try transaction.log(.updated, activity, atMs: nowMs, notifier)
    return activity
  }

  /// Encodes the payload of a change. Throws INVALID_ARGUMENT, reason `PAYLOAD_TOO_LARGE`.
  func payload(_ change: ActivityChange, of activity: StoredActivity, nowMs: Int64) throws(RPCError) -> [UInt8] {
    let payload = PushPayload(
      event: change.end == nil ? .update : .end, timestamp: activity.apsTimestamp,
      contentState: activity.contentState.json, staleMs: activity.staleMs, relevanceScore: activity.relevanceScore,
      dismissalSeconds: change.end?.dismissal.seconds(endMs: nowMs), alert: change.alert
    ).bytes()
    let limit = activity.channelID.isEmpty ? APNsLimits.payloadBytesMax : APNsLimits.largePayloadBytesMax
    guard payload.count <= limit else {
      throw .payloadTooLarge("contentState", sizeBytes: payload.count, limit: limit)
    }
    return payload
  }
}
