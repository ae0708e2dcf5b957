public import CampanileBase
public import CampanileStore
import Synchronization

/// Collects the users and the earliest timer affected by the current commit, and wakes watches and the timer loop
/// afterwards.
///
/// Writes fill it on the writer's thread. It is sealed before their commit.
public final class AlarmSchedule: Sendable {
  /// The maximum sleep, within which a clock that was set forward is noticed.
  private static let sleepMaxMs: Int64 = 10_000

  private struct State {
    var users: Set<String> = []
    var sealed: Set<String> = []
    var earliestMs: Int64?
    var planMs = Int64.max
    /// The last sequence of the change log; nil if it must be read.
    var sequence: Int64?
  }

  private let state = Mutex(State())
  private let hub: WatchHub
  /// Signalled when a committed timer is due before the loop's next planned wake-up.
  public let signal = WakeSignal()

  public init(hub: WatchHub) { self.hub = hub }

  /// Runs when a transaction begins, because an earlier one may have been undone.
  public func begin() { state.withLock { $0.sequence = nil } }

  /// Whether the next entry of the change log needs no query.
  public var knowsSequence: Bool { state.withLock { $0.sequence != nil } }

  /// Appends a user's change to the log by `insert`, which gets its sequence, and marks the user as changed.
  public func log(_ user: String, _ transaction: WriteTransaction, _ insert: (Int64) throws -> Void) throws {
    let last =
      try state.withLock { $0.sequence } ?? transaction.queryOne(ChangeLogTable.lastSQL) { try $0.integer(0) } ?? 0
    try insert(last + 1)
    state.withLock { state in
      // A write that may be undone alone must not leave a gap.
      state.sequence = transaction.usesSavepoint ? nil : last + 1
      state.users.insert(user)
    }
  }

  /// Marks a user as changed.
  public func changed(_ user: String) { state.withLock { _ = $0.users.insert(user) } }

  /// Records that a timer was set.
  public func scheduled(_ dueMs: Int64) {
    state.withLock { $0.earliestMs = min($0.earliestMs ?? dueMs, dueMs) }
  }

  /// Runs before the commit. Returns the users whose data it changes.
  @discardableResult
  public func seal() -> Set<String> {
    state.withLock { state in
      state.sealed = state.users
      state.users = []
      return state.sealed
    }
  }

  /// The users of the commit that has just ended. Ask before `committed`.
  public var changedUsers: ChangedNames { state.withLock { .some($0.sealed) } }

  /// Runs after commits of another process: wakes the watches of these users, and the timer loop.
  public func committedElsewhere(_ changes: ChangedNames) {
    hub.notify(changes)
    signal.notify()
  }

  /// Runs after every commit, successful or not: wakes the watches and the timer loop. A spurious wake-up is harmless.
  public func committed() {
    let (users, mustNotify) = state.withLock { state in
      defer {
        state.earliestMs = nil
        state.sealed = []
      }
      return (state.sealed, state.earliestMs.map { $0 < state.planMs } ?? false)
    }
    // Wake users in a deterministic order, so that a simulation can be repeated.
    for user in users.sorted() { hub.notify(user: user) }
    if mustNotify { signal.notify() }
  }

  /// Returns the time to sleep until the next alarm; nil for `nextMs` if there is none.
  public static func sleepMs(untilMs nextMs: Int64?, nowMs: Int64) -> Int64 {
    min(max(1, (nextMs ?? .max) - max(0, nowMs)), sleepMaxMs)
  }

  /// Sets the time of the loop's next planned wake-up.
  public func plan(_ dueMs: Int64) { state.withLock { $0.planMs = dueMs } }
}
