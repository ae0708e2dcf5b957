import CampanileBase
import CampanileService
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

  /// Runs after every commit, successful or not. A spurious wake-up is harmless.
  func committed() {
    let (members, signals) = state.withLock { state in
      defer {
        state.members = []
        state.isForAll = false
      }
      if state.isForAll { return (Set<Int64>(), Array(state.staff.values) + Array(state.others.values)) }
      return (state.members, state.members.isEmpty ? [] : Array(state.staff.values))
    }
    for signal in signals { signal.notify() }
    for member in members { hub.notify(user: AttendanceIDs.memberID(member)) }
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
