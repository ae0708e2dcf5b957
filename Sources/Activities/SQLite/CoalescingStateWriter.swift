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
      if activity.isPushed {
        try push(entry.payload, .update, of: activity, entry.change, transaction)
      }
      try transaction.log(.updated, activity, atMs: clockMs(), notifier)
    }
  }

  /// Checks that the pushes of a change can be queued, before any of the change is written.
  ///
  /// - Throws: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED` or `PUSH_ROUTES_EXHAUSTED`.
  func admit(_ kind: PushKind, of activity: StoredActivity, _ transaction: WriteTransaction) throws {
    let lanes = activity.lanes(of: kind)
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
    let expirationMs = try expirationMs(of: kind, activity, transaction)
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

extension CoalescingStateWriter {
  static let devicesSQL = """
    SELECT 1 FROM push_tokens WHERE user_id = $1 AND kind = 1 AND app = $2 AND state = 1 LIMIT 1
    """

  /// Returns the time until which APNs stores a push for a device that is off: until the activity would leave the Lock
  /// Screen, or 0 to store nothing.
  ///
  /// APNs stores one notification per bundle id ("Sending notification requests to APNs"). An update that shows nothing
  /// must not displace an alert there, so it is not stored if the user receives alerts of this app.
  private func expirationMs(
    of kind: PushKind, _ activity: StoredActivity, _ transaction: ReadTransaction
  ) throws -> Int64 {
    if !activity.channelID.isEmpty {
      let scope = ChannelDirectory.Scope(app: activity.app, environment: activity.environment)
      // APNs requires 0 for a channel that stores no messages.
      if try transaction.storagePolicy(ofChannel: activity.channelID, scope) == .noneValue { return 0 }
    } else if kind == .update {
      let arguments: [SQLValue] = [.text(activity.user), .text(activity.app)]
      if try transaction.queryOne(Self.devicesSQL, arguments, { try $0.integer(0) }) != nil { return 0 }
    }
    return (activity.endedMs ?? activity.expireMs) + Int64(APNsLimits.dismissalSecondsMax) * 1_000
  }
}

extension StoredActivity {
  var route: PushRouteKey { PushRouteKey(app: app, environment: environment) }

  /// The lanes of the activity's states; empty before a device shows it, and while its pushes are stopped.
  var lanes: [PushLane] { isPushed ? allLanes : [] }

  /// The lanes of a push. An end is pushed even if the pushes are stopped or a local start is pending.
  func lanes(of kind: PushKind) -> [PushLane] {
    guard kind == .end else { return lanes }
    return endIsPushed ? allLanes : []
  }

  /// Whether a device knows it, so that its end is pushed.
  var endIsPushed: Bool { status == .active || status == .pending }

  private var allLanes: [PushLane] {
    channelID.isEmpty ? tokenIDs.map { .activity($0) } : [.channel(channelID)]
  }
}
