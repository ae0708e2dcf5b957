import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  func update(_ entry: ActivityUpdate, user: String) async throws -> Activity {
    try await storeWrite { transaction in try update(entry, user: user, transaction) }
  }

  func change(
    _ id: String, user: String, idempotency: IdempotentRequest?,
    _ decide: @escaping @Sendable (StoredActivity, Int64) throws -> StateChange?
  ) async throws -> Activity {
    try await storeWrite { transaction in
      try once(idempotency, transaction) {
        // Decide before settling: a rejected change must not change a row.
        let pending = stateWriter.pending.entry(id, user: user)?.activity
        let activity = try pending ?? find(id, user: user, transaction)
        guard activity.isLive else { throw RPCError.activityEnded() }
        guard let change = try decide(activity, clockMs()) else { return activity.message }
        try stateWriter.settle(transaction)
        return try apply(change, to: pending == nil ? activity : find(id, user: user, transaction), transaction).message
      }
    }
  }

  func update(
    _ entries: [Result<ActivityUpdate, RPCError>], user: String
  ) async throws -> [Result<Activity, RPCError>] {
    try await storeWrite { transaction in
      var results: [Result<Activity, RPCError>] = []
      results.reserveCapacity(entries.count)
      var done: [Undo] = []
      do {
        for entry in entries {
          guard case .success(let entry) = entry else {
            results.append(entry.map { _ in Activity() })
            continue
          }
          do {
            // All checks precede the first write, so that a rejected entry changes nothing.
            results.append(.success(try update(entry, user: user, transaction) { done.append($0) }))
          } catch let failure as RPCError {
            results.append(.failure(failure.inside(entry.path)))
          } catch let failure as StoreError where failure.code == .requestIDReused {
            results.append(.failure(RPCError(failure, at: entry.path)))
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
    _ entry: ActivityUpdate, user: String, _ transaction: WriteTransaction, noting: (Undo) -> Void = { _ in }
  ) throws -> Activity {
    if let reply = try storedReply(Activity.self, entry.idempotency, transaction) { return reply }
    let (id, change) = (entry.id, entry.change)
    // A pending update of this commit is newer than the row.
    let pending = stateWriter.pending.entry(id, user: user)
    let old = try pending?.activity ?? find(id, user: user, transaction)
    guard old.isLive else { throw RPCError.activityEnded() }
    try UpdateRules.checkDriver(old, change)
    guard change.end == nil, change.alert == nil, !transaction.usesSavepoint else {
      try stateWriter.settle(transaction)
      let activity = try apply(change, to: find(id, user: user, transaction), transaction).message
      try storeReply(activity, entry.idempotency, transaction)
      return activity
    }
    let nowMs = clockMs()
    var activity = try changed(old, change, nowMs: nowMs)
    activity.apsTimestamp =
      pending == nil
      ? try stateWriter.timestamp(of: old, nowMs: nowMs, transaction) : max(old.apsTimestamp, nowMs / 1_000)
    let payload = try payload(change, of: activity, nowMs: nowMs)
    if pending == nil { try stateWriter.admit(.update, of: activity, transaction) }
    let message = activity.message
    try storeReply(message, entry.idempotency, transaction)
    // Last, so that a failed update leaves no entry behind.
    let pendingEntry = PendingUpdates.Entry(activity: activity, change: change, payload: payload)
    noting(Undo(entry: pendingEntry, old: stateWriter.pending.put(pendingEntry)))
    return message
  }

  /// Returns the activity after a change.
  ///
  /// - Throws: ABORTED, reason `ETAG_MISMATCH`; FAILED_PRECONDITION, reason `ACTIVITY_ENDED`.
  private func changed(
    _ old: StoredActivity, _ change: StateChange, nowMs: Int64
  ) throws(RPCError) -> StoredActivity {
    guard Etag.allows(change.etag, version: old.version) else {
      throw .etagMismatch(field: "etag", current: Etag.text(version: old.version))
    }
    guard old.isLive else { throw .activityEnded() }
    var activity = old
    activity.version += 1
    activity.updatedMs = max(nowMs, old.updatedMs)
    if let state = change.contentState { activity.contentState = state }
    activity.relevanceScore = change.relevanceScore.applied(to: old.relevanceScore)
    activity.staleMs = change.staleMs.applied(to: old.staleMs)
    if let driver = change.driver { activity.driver = driver }
    return activity
  }

  /// Stores a change with its push and its log entry. All checks precede the first write.
  func apply(
    _ change: StateChange, to old: StoredActivity, _ transaction: WriteTransaction
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
    if activity.isPushed {
      try stateWriter.push(payload, kind, of: activity, change, transaction)
    }
    try transaction.log(.updated, activity, atMs: nowMs, notifier)
    return activity
  }

  /// Encodes the payload of a change. Throws INVALID_ARGUMENT, reason `PAYLOAD_TOO_LARGE`.
  func payload(_ change: StateChange, of activity: StoredActivity, nowMs: Int64) throws(RPCError) -> [UInt8] {
    let payload = PushPayload(
      event: change.end == nil ? .update : .end, timestamp: activity.apsTimestamp,
      contentState: activity.contentState, staleMs: activity.staleMs, relevanceScore: activity.relevanceScore,
      dismissalSeconds: change.end?.dismissal.seconds(endMs: nowMs), alert: change.alert
    ).bytes()
    let limit = activity.channelID.isEmpty ? APNsLimits.payloadBytesMax : APNsLimits.largePayloadBytesMax
    guard payload.count <= limit else {
      throw .payloadTooLarge("contentStateJson", sizeBytes: payload.count, limit: limit)
    }
    return payload
  }
}
