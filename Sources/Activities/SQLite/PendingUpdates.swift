import APNs
import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore
import Synchronization

/// The states that the updates of one commit leave behind: many updates of an activity write, push and log once.
///
/// Touched by the writer's thread alone; the lock says so to the compiler. Whatever else reads or changes an activity in a
/// write settles first.
final class PendingUpdates: Sendable {
  struct Entry: Sendable {
    /// As the updates leave it; its `aps.timestamp` is decided when it is settled.
    var activity: StoredActivity
    var change: ActivityChange
    /// `aps.timestamp` as it stands in the database.
    var lastTimestamp: Int64
  }

  private struct Key: Hashable {
    var user: String
    var id: String
  }

  private let entries = Mutex<[Key: Entry]>([:])

  /// A transaction begins: nothing of an earlier one counts.
  func begin() { entries.withLock { $0.removeAll(keepingCapacity: true) } }

  func entry(_ id: String, user: String) -> Entry? { entries.withLock { $0[Key(user: user, id: id)] } }

  func put(_ entry: Entry) {
    entries.withLock { $0[Key(user: entry.activity.user, id: entry.activity.id)] = entry }
  }

  fileprivate func take() -> [Entry] {
    entries.withLock { entries in
      guard !entries.isEmpty else { return [] }
      defer { entries.removeAll(keepingCapacity: true) }
      return Array(entries.values)
    }
  }
}

/// Writes what updates came to, and queues their pushes.
struct StateWriter: Sendable {
  static let unsentSQL = "SELECT count(*) FROM pushes WHERE lane = $1 AND kind = $2 AND state <> 1 AND attempts = 0"

  let pending: PendingUpdates
  let queue: PushQueue
  let board: WakeBoard
  let clockMs: @Sendable () -> Int64

  /// Writes everything that is pending: before the commit, and before a write that looks at activities.
  func settle(_ transaction: WriteTransaction) throws {
    for entry in pending.take() {
      var activity = entry.activity
      activity.apsTimestamp = try timestamp(entry, transaction)
      try ActivityRow.writeState(activity, transaction)
      if activity.status == .active {
        try push(Self.payload(entry.change, of: activity, endMs: 0), .update, of: activity, entry.change, transaction)
      }
      try transaction.log(.updated, activity, atMs: clockMs(), board)
    }
  }

  /// An update that takes the place of one that was never sent may have its timestamp: however fast states come, timestamps
  /// stay near the clock.
  private func timestamp(_ entry: PendingUpdates.Entry, _ transaction: ReadTransaction) throws -> Int64 {
    let last = entry.lastTimestamp
    guard clockMs() / 1_000 <= last, !entry.activity.tokenIDs.isEmpty, entry.activity.channelID.isEmpty else {
      return PushClock.next(after: last, nowMs: clockMs())
    }
    for id in entry.activity.tokenIDs {
      let lane = PushLane.activity(id).text
      let unsent = try transaction.queryOne(
        Self.unsentSQL, [.text(lane), .integer(PushKind.update.rawValue)]
      ) { try $0.integer(0) }
      if unsent == 0 { return last + 1 }
    }
    return last
  }

  static func payload(_ change: ActivityChange, of activity: StoredActivity, endMs: Int64) -> [UInt8] {
    PushPayload(
      event: change.end == nil ? .update : .end, timestamp: activity.apsTimestamp,
      contentState: activity.contentState.json, staleMs: activity.staleMs, relevanceScore: activity.relevanceScore,
      dismissalSeconds: change.end?.dismissal.seconds(endMs: endMs), alert: change.alert
    ).bytes()
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
