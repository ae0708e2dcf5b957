import CampanileService
import Synchronization

/// Whom the writes of one commit concern. Filled by writes on the writer's thread, told after the commit.
final class CommitBoard: Sendable {
  private struct State {
    var members: Set<Int64> = []
    var isForAll = false
    var staff: [ObjectIdentifier: WatchBell] = [:]
    var others: [ObjectIdentifier: WatchBell] = [:]
  }

  private let hub: WatchHub
  private let state = Mutex(State())

  init(hub: WatchHub) { self.hub = hub }

  /// A member's attendance was changed: those who see everything, and the member.
  func changed(member: Int64) { state.withLock { _ = $0.members.insert(member) } }

  /// Something that everybody sees was changed.
  func changedForAll() { state.withLock { $0.isForAll = true } }

  /// After a commit, also one that failed, when they look in vain.
  func committed() {
    let (members, bells) = state.withLock { state in
      defer {
        state.members = []
        state.isForAll = false
      }
      if state.isForAll { return (Set<Int64>(), Array(state.staff.values) + Array(state.others.values)) }
      return (state.members, state.members.isEmpty ? [] : Array(state.staff.values))
    }
    for bell in bells { bell.ring() }
    for member in members { hub.ring(user: Numbers.memberID(member)) }
  }

  func add(_ bell: WatchBell, isStaff: Bool) {
    state.withLock { state in
      if isStaff { state.staff[ObjectIdentifier(bell)] = bell } else { state.others[ObjectIdentifier(bell)] = bell }
    }
  }

  func remove(_ bell: WatchBell) {
    state.withLock { state in
      state.staff[ObjectIdentifier(bell)] = nil
      state.others[ObjectIdentifier(bell)] = nil
    }
  }
}
