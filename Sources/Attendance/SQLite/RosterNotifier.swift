import CampanileBase
import CampanileService
import CampanileStore
import Synchronization

/// Collects the members affected by the current commit and wakes their watches afterwards. Writes fill it on the
/// writer's thread.
final class RosterNotifier: Sendable {
  private struct State {
    var members: Set<Int64> = []
    var isForAll = false
    var staff: [ObjectIdentifier: WakeSignal] = [:]
    var others: [ObjectIdentifier: WakeSignal] = [:]

    /// Returns the watches to wake in addition to those of the changed members.
    func signals(isForAll: Bool, hasMembers: Bool) -> [WakeSignal] {
      if isForAll { return Array(staff.values) + Array(others.values) }
      return hasMembers ? Array(staff.values) : []
    }
  }

  private let hub: WatchHub
  private let state = Mutex(State())

  init(hub: WatchHub) { self.hub = hub }

  /// Records a change of a member's attendance: wakes the staff's watches and the member's own.
  func changed(member: Int64) { state.withLock { _ = $0.members.insert(member) } }

  /// Records a change that everyone sees.
  func changedForAll() { state.withLock { $0.isForAll = true } }

  /// The members of the commit that has just ended, by their ids. Ask before `committed`.
  var changedMembers: ChangedNames {
    state.withLock { $0.isForAll ? .all : .some(Set($0.members.map(AttendanceIDs.memberID))) }
  }

  /// Runs after every commit, successful or not. A spurious wake-up is harmless.
  func committed() {
    let (members, signals) = state.withLock { state in
      defer {
        state.members = []
        state.isForAll = false
      }
      return (
        state.isForAll ? [] : state.members, state.signals(isForAll: state.isForAll, hasMembers: !state.members.isEmpty)
      )
    }
    for signal in signals { signal.notify() }
    for member in members { hub.notify(user: AttendanceIDs.memberID(member)) }
  }

  /// Runs after commits of another process.
  func committedElsewhere(_ changes: ChangedNames) {
    for signal in state.withLock({ $0.signals(isForAll: changes == .all, hasMembers: true) }) { signal.notify() }
    if changes != .all { hub.notify(changes) }
  }

  func add(_ signal: WakeSignal, isStaff: Bool) {
    state.withLock { state in
      if isStaff {
        state.staff[ObjectIdentifier(signal)] = signal
      } else {
        state.others[ObjectIdentifier(signal)] = signal
      }
    }
  }

  func remove(_ signal: WakeSignal) {
    state.withLock { state in
      state.staff[ObjectIdentifier(signal)] = nil
      state.others[ObjectIdentifier(signal)] = nil
    }
  }
}
