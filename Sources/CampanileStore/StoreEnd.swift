import Synchronization

/// The shutdown of a store, which runs once on the writer's thread, and the callers that wait for it.
final class StoreEnd: Sendable {
  private struct State {
    var isOver = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let lock: OwnershipLock
  private let state = Mutex(State())

  init(_ lock: OwnershipLock) { self.lock = lock }

  func finish(_ connection: SQLConnection?) {
    if let connection {
      // A reader outside this process may prevent truncating the log; the next start does it then.
      try? connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      try? connection.close()
    }
    lock.release()
    let waiters = state.withLock { state in
      state.isOver = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiters.append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }
}
