import Synchronization

/// Whom the writes of one commit concern, and which timer is now the first. Filled by writes on the writer's thread, sealed
/// before their commit, and told after it.
public final class WakeBoard: Sendable {
  private struct State {
    var users: Set<String> = []
    var told: Set<String> = []
    var earliestMs: Int64?
    var planMs = Int64.max
  }

  private let state = Mutex(State())
  private let hub: WatchHub
  /// Rung when a timer was committed that is due before the loop would look again.
  public let bell = WatchBell()

  public init(hub: WatchHub) { self.hub = hub }

  /// Something of a user was changed.
  public func changed(_ user: String) { state.withLock { _ = $0.users.insert(user) } }

  /// A timer was set.
  public func scheduled(_ dueMs: Int64) {
    state.withLock { $0.earliestMs = min($0.earliestMs ?? dueMs, dueMs) }
  }

  /// Before the commit: answers whose data it changes.
  @discardableResult
  public func seal() -> Set<String> {
    state.withLock { state in
      state.told = state.users
      state.users = []
      return state.told
    }
  }

  /// After the commit: wakes the watches and the timers' loop. Also after one that failed, when they look in vain.
  public func committed() {
    let (users, mustRing) = state.withLock { state in
      defer {
        state.earliestMs = nil
        state.told = []
      }
      return (state.told, state.earliestMs.map { $0 < state.planMs } ?? false)
    }
    // In an order that follows from who they are, so that a run can be repeated.
    for user in users.sorted() { hub.ring(user: user) }
    if mustRing { bell.ring() }
  }

  /// When the loop will look again by itself.
  public func plan(_ dueMs: Int64) { state.withLock { $0.planMs = dueMs } }
}
