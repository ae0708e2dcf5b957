import Synchronization

/// A wake-up signal that is remembered until the next wait. Several calls of `notify` before a wait count as one.
final class RelaySignal: Sendable {
  private struct State {
    var isRaised = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func notify() {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      if state.waiter == nil { state.isRaised = true }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits for the next signal. Returns at once if one is remembered or the task is cancelled. Supports one waiter at a
  /// time: a second one releases the first.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (older, mustResume) = state.withLock { state in
          let older = state.waiter
          state.waiter = nil
          if state.isRaised || Task.isCancelled {
            state.isRaised = false
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
