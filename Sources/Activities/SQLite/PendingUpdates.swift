import CampanileService
import CampanileStore
import Synchronization

/// The states that the updates of one commit leave behind: many updates of an activity write, push and log once.
///
/// Touched by the writer's thread alone; the lock says so to the compiler. Whatever else reads or changes activities or
/// their pushes in a write settles first (`StateWriter.settle`), so that what is pending is always the newest.
final class PendingUpdates: Sendable {
  /// As the updates so far leave an activity. Its pushes have been admitted.
  struct Entry: Sendable {
    var activity: StoredActivity
    /// The newest, from which the push has its priority and trace.
    var change: ActivityChange
    /// Of that change.
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
    /// In the order in which they were first updated, which is that of the change log.
    var order: [Key] = []
    var pushCount = 0

    mutating func clear() {
      entries.removeAll(keepingCapacity: true)
      order.removeAll(keepingCapacity: true)
      pushCount = 0
    }
  }

  private let state = Mutex(State())

  /// A transaction begins: nothing of an earlier one counts.
  func begin() { state.withLock { $0.clear() } }

  /// Pushes that settling adds to the queue at most.
  var pushCount: Int { state.withLock { $0.pushCount } }

  func entry(_ id: String, user: String) -> Entry? { state.withLock { $0.entries[Key(user: user, id: id)] } }

  /// Answers what stood there before.
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

  /// Takes back a `put` that answered `old`. The last is taken back first.
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

  /// All of them, which are pending no longer.
  func take() -> [Entry] {
    state.withLock { state in
      guard !state.order.isEmpty else { return [] }
      defer { state.clear() }
      return state.order.compactMap { state.entries[$0] }
    }
  }
}
