/// Ends pauses between attempts early, for example once the network is back.
public final class ReconnectSignal: Sendable {
  private struct State {
    /// The number of signals so far.
    var count = 0
    var nextWaiter = 0
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Locked(State())

  public init() {}

  /// Ends all current pauses.
  public func notify() {
    let waiters = state.withLock { state in
      state.count += 1
      defer { state.waiters = [:] }
      return state.waiters.values.map { $0 }
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The number of signals so far.
  package var count: Int { state.withLock { $0.count } }

  /// Waits for the next signal after the first `count` ones, at most `pauseMs`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  package func pause(ms pauseMs: Int64, since count: Int? = nil, _ environment: ClientEnvironment) async throws {
    try Task.checkCancellation()
    guard pauseMs > 0 else { return }
    let sleepMs = environment.sleepMs
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await sleepMs(pauseMs) }
      group.addTask { await self.next(after: count) }
      await group.next()
      group.cancelAll()
    }
    try Task.checkCancellation()
  }

  /// Returns after the next signal, after cancellation, or at once if there were signals since `count`.
  package func next(after count: Int?) async {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          guard !Task.isCancelled, count == nil || count == state.count else { return true }
          state.waiters[id] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }
}
