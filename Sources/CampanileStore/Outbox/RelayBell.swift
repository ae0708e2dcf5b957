import Synchronization

/// A signal that is remembered until someone waits for it: any number of rings before a wait are one.
final class RelayBell: Sendable {
  private struct State {
    var isRung = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func ring() {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      if state.waiter == nil { state.isRung = true }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Returns at the next ring, at once when one is remembered, or when the task is cancelled. One waiter at a time: a
  /// second one releases the first.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (older, mustResume) = state.withLock { state in
          let older = state.waiter
          state.waiter = nil
          if state.isRung || Task.isCancelled {
            state.isRung = false
            return (older, true)
          }
          state.waiter = continuation
          return (older, false)
        }
        older?.resume()
        if mustResume { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }
  }
}
