import CampanileService
import CampanileStore
import Synchronization

/// Coalesced updates of the current commit: several updates of an activity result in one write, one push and one log
/// entry.
///
/// Used on the writer's thread only; the lock satisfies the compiler. Any other write that reads or changes activities
/// or their pushes settles first (`CoalescingStateWriter.settle`), so that pending entries are always the newest state.
final class PendingUpdates: Sendable {
  /// An activity after the updates so far. Its pushes have been admitted.
  struct Entry: Sendable {
    var activity: StoredActivity
    /// The newest change, which determines the push's priority and trace.
    var change: StateChange
    /// The payload of that change.
    var payload: [UInt8]
  }

  private struct Key: Hashable {
    var user: String
    var id: String

    init(_ activity: StoredActivity) { (user, id) = (activity.user, activity.id) }
    init(user: String, id: String) { (self.user, self.id) = (user, id) }
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    /// Keys in the order of their first update, which is also the order of the change log.
    var order: [Key] = []
    var pushCount = 0

    mutating func clear() {
      entries.removeAll(keepingCapacity: true)
      order.removeAll(keepingCapacity: true)
      pushCount = 0
    }
  }

  private let state = Mutex(State())

  /// Discards entries of an earlier transaction when a new one begins.
  func begin() { state.withLock { $0.clear() } }

  /// The maximum number of pushes that settling adds to the queue.
  var pushCount: Int { state.withLock { $0.pushCount } }

  func entry(_ id: String, user: String) -> Entry? { state.withLock { $0.entries[Key(user: user, id: id)] } }

  /// Stores an entry and returns the one it replaces.
  @discardableResult
  func put(_ entry: Entry) -> Entry? {
    let key = Key(entry.activity)
    return state.withLock { state in
      let old = state.entries.updateValue(entry, forKey: key)
      if old == nil {
        state.order.append(key)
        state.pushCount += entry.activity.lanes.count
      }
      return old
    }
  }

  /// Reverts a `put` that returned `old`. Revert in reverse order.
  func takeBack(_ entry: Entry, to old: Entry?) {
    let key = Key(entry.activity)
    state.withLock { state in
      guard state.entries[key] != nil else { return }
      state.entries[key] = old
      guard old == nil else { return }
      state.order.removeAll { $0 == key }
      state.pushCount -= entry.activity.lanes.count
    }
  }

  /// Removes and returns all entries.
  func take() -> [Entry] {
    state.withLock { state in
      guard !state.order.isEmpty else { return [] }
      defer { state.clear() }
      return state.order.compactMap { state.entries[$0] }
    }
  }
}
