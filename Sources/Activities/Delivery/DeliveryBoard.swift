import CampanileService
import CampanileStore
import Synchronization

/// What the transactions of one commit leave for delivery: that pushes were queued, how many, and what the statistics count.
/// Filled on the writer's thread, emptied before and after the commit.
final class DeliveryBoard: Sendable {
  private struct State {
    var queuedCount: Int64 = 0
    var queuedDelta: Int64 = 0
    var hasQueued = false
    var coalescedCount = 0
    var coalescedDelta = 0
    var statistics = StatisticsDelta()
    /// When each lane's last update was sent; those of the last moment only.
    var sentMs: [String: Int64] = [:]
    var prunedMs: Int64 = 0
    var routes: [PushRouteKey: Int64] = [:]
    /// Routes seen in the running transaction, which may be gone with it.
    var routesSeen: [PushRouteKey: Int64] = [:]
    var hasNewRoute = false
    var mustReadRoutes = false
    var hints = QueueHints()
  }

  private let state = Mutex(State())
  /// Rung after a commit that queued pushes.
  let bell = WatchBell()

  /// A transaction begins: nothing of an earlier one counts.
  func begin() {
    state.withLock { state in
      state.queuedDelta = 0
      state.coalescedDelta = 0
      state.hasQueued = false
      state.statistics = StatisticsDelta()
      state.routesSeen = [:]
      state.hints.begin()
    }
  }

  /// Before the commit: writes what the statistics count, once for all its writes.
  func complete(_ transaction: WriteTransaction) throws {
    let delta = state.withLock { state in
      defer { state.statistics = StatisticsDelta() }
      return state.statistics
    }
    try delta.write(transaction)
  }

  /// After the commit, be it good or not: wakes the dispatcher, which at worst looks in vain.
  func committed(isKept: Bool) {
    let mustRing = state.withLock { state in
      if isKept { state.queuedCount += state.queuedDelta }
      state.queuedDelta = 0
      if isKept { state.coalescedCount += state.coalescedDelta }
      state.coalescedDelta = 0
      if isKept { state.routes.merge(state.routesSeen) { $1 } }
      state.routesSeen = [:]
      if isKept { state.hints.keep() } else { state.hints.begin() }
      if state.hasNewRoute { state.mustReadRoutes = true }
      state.hasNewRoute = false
      defer { state.hasQueued = false }
      return state.hasQueued
    }
    if mustRing { bell.ring() }
  }

  /// Pushes in the queue, those of the running transaction included.
  var queuedCount: Int64 { state.withLock { $0.queuedCount + $0.queuedDelta } }

  /// Corrects the count from the database, from which undone writes may have led it away.
  func recounted(_ count: Int64) { state.withLock { $0.queuedCount = count } }

  func queued(_ count: Int64) {
    state.withLock { state in
      state.queuedDelta += count
      if count > 0 { state.hasQueued = true }
    }
  }

  /// What most pushes need not look for. `begin` and `keep` are the board's.
  func hint(_ note: (inout QueueHints) -> Void) { state.withLock { note(&$0.hints) } }
  func mayHold(lane: String) -> Bool { state.withLock { $0.hints.mayHold(lane: lane) } }
  func mayHoldMore(lane: String) -> Bool { state.withLock { $0.hints.mayHoldMore(lane: lane) } }
  var mayHoldDeadLetters: Bool { state.withLock { $0.hints.mayHoldDeadLetters } }

  /// Something became due that the dispatcher does not know of.
  func mustLook() { state.withLock { $0.hasQueued = true } }

  /// Counts with the commit; at once where a write may be undone alone.
  func count(
    _ measure: StatisticsMeasure, app: String, atMs: Int64, by count: Int64 = 1, in transaction: WriteTransaction
  ) throws {
    if measure == .coalesced { state.withLock { $0.coalescedDelta += Int(count) } }
    if transaction.isUndoneAlone {
      var delta = StatisticsDelta()
      delta.add(measure, app: app, atMs: atMs, by: count)
      return try delta.write(transaction)
    }
    state.withLock { $0.statistics.add(measure, app: app, atMs: atMs, by: count) }
  }

  /// States of which only a newer one was sent, since the start.
  var coalescedCount: Int { state.withLock { $0.coalescedCount } }

  /// The routes of all pushes; those that were there before are told at the start.
  var allRoutes: [PushRouteKey: Int64] { state.withLock { $0.routes } }
  func learn(_ routes: [PushRouteKey: Int64]) { state.withLock { $0.routes.merge(routes) { $1 } } }

  /// A route was added by a write that may yet be undone: the table is asked after the commit.
  func addedRoute() { state.withLock { $0.hasNewRoute = true } }

  /// Whether the table of routes was added to since the last call.
  func takeMustReadRoutes() -> Bool {
    state.withLock { state in
      defer { state.mustReadRoutes = false }
      return state.mustReadRoutes
    }
  }

  func knownRoute(_ key: PushRouteKey) -> Int64? { state.withLock { $0.routes[key] } }
  func seen(_ key: PushRouteKey, id: Int64) { state.withLock { $0.routesSeen[key] = id } }

  /// Notes when an update of a lane was sent.
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

  /// The earliest time for the next update of a lane.
  func notBeforeMs(lane: String, nowMs: Int64, spacingMs: Int64) -> Int64 {
    let sentMs = state.withLock { $0.sentMs[lane] }
    guard let sentMs, sentMs <= nowMs else { return nowMs }
    return max(nowMs, sentMs + spacingMs)
  }
}

/// An app in an environment.
struct PushRouteKey: Sendable, Hashable {
  var app: String
  var environment: String
}
