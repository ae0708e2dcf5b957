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
    let changes = changedMembers
    state.withLock { state in
      state.members = []
      state.isForAll = false
    }
    notify(changes)
  }

  /// Wakes the watches that a commit of this or another process concerns.
  func notify(_ changes: ChangedNames) {
    if case .some(let members) = changes, members.isEmpty { return }
    let signals = state.withLock { state in
      changes == .all ? Array(state.staff.values) + Array(state.others.values) : Array(state.staff.values)
    }
    for signal in signals { signal.notify() }
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
