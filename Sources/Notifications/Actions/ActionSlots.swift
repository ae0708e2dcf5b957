import Synchronization

/// An `ActionQueue` for tasks: each task waits until its request may be sent.
final class ActionSlots: Sendable {
  private struct State {
    var queue: ActionQueue
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state: Mutex<State>
  private let waitMaxMs: Int64

  init(_ limits: ActionQueueLimits) {
    state = Mutex(State(queue: ActionQueue(limits)))
    waitMaxMs = limits.waitMaxMs
  }

  /// The numbers of sent and of waiting requests.
  var counts: (sent: Int, waiting: Int) { state.withLock { ($0.queue.sentCount, $0.queue.waitingCount) } }

  /// Runs `body` as soon as the limits permit.
  ///
  /// - Returns: Nil if `body` was not run: too many requests wait, the time limit for waiting has passed, or the task
  ///   was cancelled.
  func run<T: Sendable>(user: String, host: String, _ body: () async -> T) async -> T? {
    let (entry, admission) = state.withLock { $0.queue.enter(user: user, host: host) }
    if admission == .refused { return nil }
    if admission == .waits {
      await wait(for: entry)
      guard state.withLock({ $0.queue.isSent(entry) }) else { return nil }
    }
    defer { leave(entry) }
    return await body()
  }

  /// Returns when the request may be sent or has been abandoned.
  private func wait(for entry: ActionQueue.Entry) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.waitForTurn(of: entry) }
      group.addTask {
        try? await Task.sleep(for: .milliseconds(self.waitMaxMs))
        self.giveUp(entry)
      }
      await group.next()
      group.cancelAll()
    }
  }

  private func waitForTurn(of entry: ActionQueue.Entry) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.queue.isWaiting(entry) else { return false }
          state.waiters[entry.id] = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      giveUp(entry)
    }
  }

  private func giveUp(_ entry: ActionQueue.Entry) {
    let waiter = state.withLock { state in
      guard state.queue.isWaiting(entry) else { return nil as CheckedContinuation<Void, Never>? }
      state.queue.giveUp(entry)
      return state.waiters.removeValue(forKey: entry.id)
    }
    waiter?.resume()
  }

  private func leave(_ entry: ActionQueue.Entry) {
    let waiters = state.withLock { state in
      state.queue.leave(entry).compactMap { state.waiters.removeValue(forKey: $0.id) }
    }
    for waiter in waiters { waiter.resume() }
  }
}
