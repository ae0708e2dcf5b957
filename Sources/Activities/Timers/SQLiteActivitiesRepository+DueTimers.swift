import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Execution of due timers.
///
/// A timer's row is deleted in the transaction of its effect, so that the effect happens exactly once even if the
/// process stops.
extension SQLiteActivitiesRepository {
  /// Executes a timer unless it was changed since it was read.
  func run(_ timer: ActivityTimer, _ transaction: WriteTransaction) throws {
    guard try transaction.takeTimer(timer) else { return }
    let found = try transaction.queryOne(
      ActivityRow.oneSQL, [.text(timer.user), .text(timer.subject)], ActivityRow.activity)
    guard let activity = found, activity.isLive else { return }
    switch timer.kind {
    case .start: try startScheduled(activity, transaction)
    case .end: try endScheduled(activity, transaction)
    case .expire: try expire(activity, transaction)
    case .timeOver:
      guard case .timer(let state) = activity.driver else { return }
      var machine = TimerMachine(state)
      let action = try machine.handle(.timeOver, atMs: max(clockMs(), timer.dueMs))
      try drive(activity, .timer(machine.state), machine.content(policy.dates(of: activity.app)), action, transaction)
    case .waitingOver:
      guard case .room(let state) = activity.driver else { return }
      var machine = RoomMachine(state)
      let action = machine.handle(.waitingOver, atMs: max(clockMs(), timer.dueMs))
      try drive(activity, .room(machine.state), machine.content(policy.dates(of: activity.app)), action, transaction)
    }
  }

  private func drive(
    _ activity: StoredActivity, _ driver: ActivityDriver, _ content: String, _ action: DriverAction,
    _ transaction: WriteTransaction
  ) throws {
    guard let change = StateChange(action, driver: driver, content: content) else { return }
    _ = try apply(change, to: activity, transaction)
  }

  /// Follows a local start that the system has carried out, and pushes a state that the app did not schedule.
  private func followLocalStart(_ old: StoredActivity, _ transaction: WriteTransaction) throws {
    let nowMs = clockMs()
    var activity = old
    activity.status = .active
    activity.startMs = nowMs
    activity.expireMs = nowMs + Self.lifetimeMs
    try ActivityRow.writeLife(activity, transaction)
    try setTimer(.expire, activity, dueMs: activity.expireMs, transaction)
    try transaction.log(.started, activity, atMs: nowMs, notifier)
    if !activity.isAsStartedByApp { _ = try apply(StateChange(), to: activity, transaction) }
  }

  private func startScheduled(_ old: StoredActivity, _ transaction: WriteTransaction) throws {
    if old.status == .pending { return try followLocalStart(old, transaction) }
    guard old.status == .scheduled else { return }
    let nowMs = clockMs()
    let start = try StartRow.find(id: old.id, user: old.user, transaction)
    var activity = old
    activity.version += 1
    activity.startMs = nowMs
    activity.expireMs = nowMs + Self.lifetimeMs
    activity.apsTimestamp = PushClock.next(after: old.apsTimestamp, nowMs: nowMs)
    let tokens: [TokenRow]
    let payload: [UInt8]
    do {
      tokens = try startTokens(activity, start, transaction)
      payload = try startPayload(activity, start)
    } catch is RPCError {
      _ = try end(old, .init(reason: .startFailed, dismissal: .immediate), transaction)
      return
    }
    activity.status = activity.channelID.isEmpty ? .starting : .active
    try ActivityRow.writeLife(activity, transaction)
    try setTimer(.expire, activity, dueMs: activity.expireMs, transaction)
    try push(payload, startOf: activity, to: tokens, nil, transaction)
    try transaction.log(.started, activity, atMs: nowMs, notifier)
  }

  private func endScheduled(_ activity: StoredActivity, _ transaction: WriteTransaction) throws {
    let json = try transaction.queryOne(Self.endSQL, [.text(activity.user), .text(activity.id)]) { try $0.text(0) }
    var change = StateChange(end: .init(reason: .requested, dismissal: .automatic))
    if let json {
      do throws(ProtoJSONError) {
        let request = try EndActivityRequest(jsonString: json)
        if !request.contentStateJson.isEmpty { change.contentState = request.contentStateJson }
        change.alert = request.alert
        if let dismissal = request.dismissalTime?.millisecondsSince1970 {
          change.end = .init(reason: .requested, dismissal: .at(dismissal))
        }
      } catch {
        throw StoreError(.corrupt, "a scheduled end cannot be read: \(error.reason)")
      }
    }
    _ = try apply(change, to: activity, transaction)
  }

  /// Ends an activity after 8 h, or starts it again on its devices if it renews.
  private func expire(_ old: StoredActivity, _ transaction: WriteTransaction) throws {
    let nowMs = clockMs()
    let start = old.renews ? try StartRow.find(id: old.id, user: old.user, transaction) : StartContent()
    var activity = old
    activity.apsTimestamp = PushClock.next(after: old.apsTimestamp, nowMs: nowMs)
    let lastTimestamp = activity.apsTimestamp
    activity.apsTimestamp = PushClock.next(after: lastTimestamp, nowMs: nowMs)
    guard old.renews, !old.arePushesStopped, start.isComplete,
      let tokens = try? startTokens(activity, start, transaction),
      let payload = try? startPayload(activity, start)
    else {
      _ = try end(old, .init(reason: .expired, dismissal: .automatic), transaction)
      return
    }
    var goodbye = activity
    goodbye.apsTimestamp = lastTimestamp
    let change = StateChange(priority: .high, end: .init(reason: .expired, dismissal: .immediate))
    if old.status == .active, old.channelID.isEmpty {
      try stateWriter.admit(.end, of: old, transaction)
      try stateWriter.push(self.payload(change, of: goodbye, nowMs: nowMs), .end, of: goodbye, change, transaction)
    }
    try releaseTokens(of: old, nowMs: nowMs, transaction)
    activity.version += 1
    activity.tokenIDs = []
    activity.generation += 1
    activity.startMs = nowMs
    activity.expireMs = nowMs + Self.lifetimeMs
    activity.status = activity.channelID.isEmpty ? .starting : .active
    try ActivityRow.writeLife(activity, transaction)
    try setTimer(.expire, activity, dueMs: activity.expireMs, transaction)
    try push(payload, startOf: activity, to: tokens, nil, transaction)
    try transaction.log(.updated, activity, atMs: nowMs, notifier)
  }
}

extension StateChange {
  /// Converts a driver's action to a change; nil if nothing changes.
  init?(_ action: DriverAction, driver: ActivityDriver, content: String) {
    self.init(contentState: content, driver: driver)
    switch action {
    case .keep: return nil
    case .update: break
    case .end(let reason, let dismissal):
      end = End(reason: reason, dismissal: dismissal)
      priority = .high
    }
  }
}
