import APNs
import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Writes the coalesced updates of a commit and queues their pushes.
struct CoalescingStateWriter: Sendable {
  static let newestSQL = """
    SELECT kind, state, attempts FROM pushes WHERE lane = $1 ORDER BY apns_id DESC LIMIT 1
    """

  let pending: PendingUpdates
  let queue: PushQueue
  let notifier: AlarmSchedule
  let clockMs: @Sendable () -> Int64

  /// Writes all pending updates. Called before the commit and before a write that reads activities or their pushes.
  ///
  /// Rejects nothing, because pending updates were checked and admitted.
  func settle(_ transaction: WriteTransaction) throws {
    for entry in pending.take() {
      let activity = entry.activity
      try ActivityRow.writeState(activity, transaction)
      if activity.status == .active {
        try push(entry.payload, .update, of: activity, entry.change, transaction)
      }
      try transaction.log(.updated, activity, atMs: clockMs(), notifier)
    }
  }

  /// Checks that the pushes of a change can be queued, before any of the change is written.
  ///
  /// - Throws: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED` or `PUSH_ROUTES_EXHAUSTED`.
  func admit(_ kind: PushKind, of activity: StoredActivity, _ transaction: WriteTransaction) throws {
    let lanes = activity.lanes
    guard !lanes.isEmpty else { return }
    try queue.admit(kind, to: lanes, besides: pending.pushCount, in: transaction)
    try queue.routeID(of: activity.route, in: transaction)
  }

  /// Returns `aps.timestamp` for the first update in a commit.
  ///
  /// An update that replaces an unsent one may reuse its timestamp. Timestamps therefore stay near the clock, however
  /// fast states change.
  func timestamp(of activity: StoredActivity, nowMs: Int64, _ transaction: ReadTransaction) throws -> Int64 {
    let last = activity.apsTimestamp
    guard nowMs / 1_000 <= last, !activity.tokenIDs.isEmpty, activity.channelID.isEmpty else {
      return PushClock.next(after: last, nowMs: nowMs)
    }
    for lane in activity.lanes {
      guard queue.notifier.mayHold(lane: lane.text) else { return last + 1 }
      // A push after the update may have the last timestamp.
      let isUnsent = try transaction.queryOne(Self.newestSQL, [.text(lane.text)]) { row in
        let (kind, state, attempts) = (try row.integer(0), try row.integer(1), try row.integer(2))
        return kind == PushKind.update.rawValue && state != PushState.taken.rawValue && attempts == 0
      }
      guard isUnsent == true else { return last + 1 }
    }
    return last
  }

  /// Queues an admitted push to every device that shows the activity, or to its channel.
  func push(
    _ payload: [UInt8], _ kind: PushKind, of activity: StoredActivity, _ change: StateChange,
    _ transaction: WriteTransaction
  ) throws {
    // APNs stores the newest push for a device that is off until the activity would leave the Lock Screen.
    var expirationMs = (activity.endedMs ?? activity.expireMs) + Int64(APNsLimits.dismissalSecondsMax) * 1_000
    if !activity.channelID.isEmpty {
      let scope = ChannelDirectory.Scope(app: activity.app, environment: activity.environment)
      // APNs requires 0 for a channel that stores no messages.
      if try transaction.storagePolicy(ofChannel: activity.channelID, scope) == .noneValue {
        expirationMs = 0
      }
    }
    func order(_ lane: PushLane, _ kind: PushKind, _ target: PushTarget) -> PushOrder {
      PushOrder(
        lane: lane.text, kind: kind, userID: activity.user, activityID: activity.id, target: target,
        route: activity.route, pushType: .liveactivity, priority: change.priority, payload: payload,
        expirationMs: expirationMs, traceParent: change.traceParent)
    }
    if !activity.channelID.isEmpty {
      let lane = PushLane.channel(activity.channelID)
      try queue.enqueue(order(lane, .broadcast, .channel(activity.channelID)), isAdmitted: true, in: transaction)
      return
    }
    for id in activity.tokenIDs {
      // The token's row is stable when the device gets another token: it identifies the activity on one device.
      try queue.enqueue(order(.activity(id), kind, .token(id)), isAdmitted: true, in: transaction)
    }
  }
}

extension StoredActivity {
  var route: PushRouteKey { PushRouteKey(app: app, environment: environment) }

  /// The lanes of the activity's pushes; empty before a device shows it.
  var lanes: [PushLane] {
    if status != .active { return [] }
    return channelID.isEmpty ? tokenIDs.map { .activity($0) } : [.channel(channelID)]
  }
}
