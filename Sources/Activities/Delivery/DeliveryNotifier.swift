import CampanileBase
import CampanileService
import CampanileStore
import Synchronization

/// Collects what the writes of one commit changed for delivery: queued pushes, statistics and routes.
///
/// Filled on the writer's thread, and emptied before and after the commit.
final class DeliveryNotifier: Sendable {
  private struct State {
    var queuedCount: Int64 = 0
    var queuedDelta: Int64 = 0
    var hasQueued = false
    var coalescedCount = 0
    var coalescedDelta = 0
    var statistics = StatisticsDelta()
    /// Time of each lane's last update; entries older than the update spacing are pruned.
    var sentMs: [String: Int64] = [:]
    var prunedMs: Int64 = 0
    var routes: [PushRouteKey: Int64] = [:]
    /// Routes seen in the current transaction, which may be rolled back.
    var routesSeen: [PushRouteKey: Int64] = [:]
    var hasNewRoute = false
    var mustReadRoutes = false
    var hints = QueueHints()
    /// Ids of the pushes that ended in the current transaction.
    var ended: [String] = []
    /// Whether the current transaction has changed the signing keys.
    var hasChangedKeys = false
  }

  private let state = Mutex(State())
  /// Signalled after a commit that queued pushes.
  let signal = WakeSignal()
  /// Signalled after another process has changed the signing keys.
  let keysSignal = WakeSignal()
  /// The newest ends of pushes, for watches.
  let ends: PushEnds

  init(ends: PushEnds) { self.ends = ends }

  /// Discards the state of an earlier transaction when a new one begins.
  func begin() {
    state.withLock { state in
      state.queuedDelta = 0
      state.coalescedDelta = 0
      state.hasQueued = false
      state.statistics = StatisticsDelta()
      state.routesSeen = [:]
      state.hints.begin()
      state.ended = []
      state.hasChangedKeys = false
    }
  }

  /// Runs before the commit: writes the statistics of all its writes at once, and the ends that other processes watch.
  func complete(_ transaction: WriteTransaction) throws {
    let (delta, ended) = state.withLock { state in
      defer { state.statistics = StatisticsDelta() }
      return (state.statistics, state.ended)
    }
    try delta.write(transaction)
    if !ended.isEmpty, try transaction.dialect == .postgreSQL { try PushEndTable.add(ended, transaction) }
  }

  // Names of changes for other processes. No user has them.
  private static let pushesName = "*pushes"
  private static let routesName = "*routes"
  private static let keysName = "*keys"
  private static let endsName = "*ends"

  /// Returns the changes of the commit that has just ended, for other processes. Ask before `committed`.
  var changedNames: ChangedNames {
    state.withLock { state in
      var names: Set<String> = []
      if state.hasQueued { names.insert(Self.pushesName) }
      if state.hasNewRoute { names.insert(Self.routesName) }
      if state.hasChangedKeys { names.insert(Self.keysName) }
      if !state.ended.isEmpty { names.insert(Self.endsName) }
      return .some(names)
    }
  }

  /// Runs after every commit, successful or not. A spurious wake-up is harmless.
  func committed(isKept: Bool) {
    let (mustNotify, ended) = state.withLock { state in
      if isKept { state.queuedCount += state.queuedDelta }
      state.queuedDelta = 0
      if isKept { state.coalescedCount += state.coalescedDelta }
      state.coalescedDelta = 0
      if isKept { state.routes.merge(state.routesSeen) { $1 } }
      state.routesSeen = [:]
      if isKept { state.hints.keep() } else { state.hints.begin() }
      if state.hasNewRoute { state.mustReadRoutes = true }
      state.hasNewRoute = false
      let ended = isKept ? state.ended : []
      state.ended = []
      defer { state.hasQueued = false }
      return (state.hasQueued, ended)
    }
    ends.append(ended)
    if mustNotify { signal.notify() }
  }

  /// Runs after commits of another process, which may have queued pushes.
  func committedElsewhere(_ changes: ChangedNames) {
    if changes.contains(Self.endsName) { ends.hub.notify(user: PushEnds.scope) }
    if changes.contains(Self.routesName) { state.withLock { $0.mustReadRoutes = true } }
    // Under load, announcements are often for everything. The keys are then read at the next interval.
    if changes != .all, changes.contains(Self.keysName) { keysSignal.notify() }
    if changes.contains(Self.pushesName) || changes.contains(Self.routesName) { signal.notify() }
  }

  /// Announces a change of the signing keys to other processes after the commit.
  func changedKeys() { state.withLock { $0.hasChangedKeys = true } }

  /// Adds a push to the ends that watches see after the commit.
  func ended(_ apnsID: String) { state.withLock { $0.ended.append(apnsID) } }

  /// The number of queued pushes, including those of the current transaction.
  var queuedCount: Int64 { state.withLock { $0.queuedCount + $0.queuedDelta } }

  /// Corrects the count from the database. Writes that were rolled back alone may have made it inexact.
  func recounted(_ count: Int64) { state.withLock { $0.queuedCount = count } }

  func queued(_ count: Int64) {
    state.withLock { state in
      state.queuedDelta += count
      if count > 0 { state.hasQueued = true }
    }
  }

  /// Hints that save most pushes a query. Only the notifier calls `begin` and `keep`.
  func hint(_ note: (inout QueueHints) -> Void) { state.withLock { note(&$0.hints) } }
  func mayHold(lane: String) -> Bool { state.withLock { $0.hints.mayHold(lane: lane) } }
  func mayHoldMore(lane: String) -> Bool { state.withLock { $0.hints.mayHoldMore(lane: lane) } }
  var mayHoldDeadLetters: Bool { state.withLock { $0.hints.mayHoldDeadLetters } }

  /// Marks the commit for a wake-up, because a push became due that the dispatcher does not know of.
  func mustLook() { state.withLock { $0.hasQueued = true } }

  /// Counts an event with the commit, or immediately in a transaction that may be rolled back alone.
  func count(
    _ measure: StatisticsMeasure, app: String, atMs: Int64, by count: Int64 = 1, in transaction: WriteTransaction
  ) throws {
    if measure == .coalesced { state.withLock { $0.coalescedDelta += Int(count) } }
    if transaction.usesSavepoint {
      var delta = StatisticsDelta()
      delta.add(measure, app: app, atMs: atMs, by: count)
      return try delta.write(transaction)
    }
    state.withLock { $0.statistics.add(measure, app: app, atMs: atMs, by: count) }
  }

  /// The number of states replaced by a newer one before they were sent, since the start of the process.
  var coalescedCount: Int { state.withLock { $0.coalescedCount } }

  /// The routes of all pushes; `learn` adds the stored ones at startup.
  var allRoutes: [PushRouteKey: Int64] { state.withLock { $0.routes } }
  func learn(_ routes: [PushRouteKey: Int64]) { state.withLock { $0.routes.merge(routes) { $1 } } }

  /// Marks the table of routes as changed. It is read after the commit, because the write may be rolled back.
  func addedRoute() { state.withLock { $0.hasNewRoute = true } }

  /// Returns whether routes were added since the last call.
  func takeMustReadRoutes() -> Bool {
    state.withLock { state in
      defer { state.mustReadRoutes = false }
      return state.mustReadRoutes
    }
  }

  func knownRoute(_ key: PushRouteKey) -> Int64? { state.withLock { $0.routes[key] } }
  func seen(_ key: PushRouteKey, id: Int64) { state.withLock { $0.routesSeen[key] = id } }

  /// Records the time at which an update of a lane was sent.
  func sent(lane: String, atMs: Int64, spacingMs: Int64) {
    guard spacingMs > 0 else { return }
    state.withLock { state in
      if atMs - state.prunedMs >= spacingMs {
        state.prunedMs = atMs
        state.sentMs = state.sentMs.filter { atMs - $0.value < spacingMs && $0.value <= atMs }
      }
      state.sentMs[lane] = atMs
    }
  }

  /// Returns the earliest time for the next update of a lane.
  func notBeforeMs(lane: String, nowMs: Int64, spacingMs: Int64) -> Int64 {
    let sentMs = state.withLock { $0.sentMs[lane] }
    guard let sentMs, sentMs <= nowMs else { return nowMs }
    return max(nowMs, sentMs + spacingMs)
  }
}

/// An app in an environment.
struct PushRouteKey: Sendable, Hashable {
  /// A bundle id.
  var app: String
  /// A configured environment: development, sandbox or production.
  var environment: String
}
