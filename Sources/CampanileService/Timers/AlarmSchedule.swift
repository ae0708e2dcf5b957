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
    /// The last entry of the change log; nil if it must be read.
    var end: LogEnd?
    /// The last entry that this process has added.
    var ownEnd: LogEnd?
  }

  /// The last entry of the change log, and the time before which no later entry is dated.
  private struct LogEnd {
    var sequence: Int64
    var timeMs: Int64
    /// The time of an entry by another process, which new ids must exceed; nil on SQLite.
    var foreignMs: Int64?
  }

  private let state = Mutex(State())
  private let hub: WatchHub
  /// Signalled when a committed timer is due before the loop's next planned wake-up.
  public let signal = WakeSignal()

  public init(hub: WatchHub) { self.hub = hub }

  /// Runs when a transaction begins, because an earlier one may have been undone.
  public func begin() { state.withLock { $0.end = nil } }

  /// Whether the next entry of the change log needs no query.
  public var knowsEnd: Bool { state.withLock { $0.end != nil } }

  /// Appends a user's change to the log by `insert`, which gets its sequence and time, and marks the user as changed.
  ///
  /// - Parameter atMs: The time by this process's clock. On a server, an entry is never dated before the last one of
  ///   another process, unless the clocks differ by more than `SortableIDGenerator.skewMaxMs`.
  public func log(
    _ user: String, atMs: Int64, _ transaction: WriteTransaction, _ insert: (Int64, Int64) throws -> Void
  ) throws {
    var end = try end(transaction)
    let isLater = end.foreignMs == nil || end.timeMs <= atMs || end.timeMs - atMs > SortableIDGenerator.skewMaxMs
    let timeMs = isLater ? atMs : end.timeMs
    end.sequence += 1
    try insert(end.sequence, timeMs)
    end.timeMs = timeMs
    state.withLock { [end] state in
      // A write that may be undone alone must not leave a gap.
      state.end = transaction.usesSavepoint ? nil : end
      state.ownEnd = end
      state.users.insert(user)
    }
  }

  /// Returns the time that new ids must exceed because another process has added the log's last entry; nil otherwise.
  public func foreignTimeMs(_ transaction: WriteTransaction) throws -> Int64? {
    guard try transaction.dialect == .postgreSQL else { return nil }
    let end = try end(transaction)
    let own = state.withLock { $0.ownEnd }
    return own?.sequence == end.sequence && own?.timeMs == end.timeMs ? nil : end.foreignMs
  }

  private func end(_ transaction: WriteTransaction) throws -> LogEnd {
    if let end = state.withLock({ $0.end }) { return end }
    let end: LogEnd
    if try transaction.dialect == .postgreSQL {
      end =
        try transaction.queryOne(ChangeLogTable.endSQL) { row in
          let timeMs = try row.integer(1)
          return LogEnd(sequence: try row.integer(0), timeMs: timeMs, foreignMs: timeMs)
        } ?? LogEnd(sequence: 0, timeMs: 0, foreignMs: 0)
    } else {
      let last = try transaction.queryOne(ChangeLogTable.lastSQL) { try $0.integer(0) }
      end = LogEnd(sequence: last ?? 0, timeMs: 0, foreignMs: nil)
    }
    if !transaction.usesSavepoint { state.withLock { $0.end = end } }
    return end
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

  /// The users of the commit that has just ended, and whether it has set a timer. Ask before `committed`.
  public var changedUsers: ChangedNames {
    state.withLock { state in
      // The loop may run in another process, which an announcement without names would not reach.
      .some(state.sealed.isEmpty && state.earliestMs != nil ? [Self.timerName] : state.sealed)
    }
  }

  /// Announces a timer to other processes. No user has this name.
  private static let timerName = "*timer"

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
