import Synchronization

/// The shutdown of a store, which runs once on the writer's thread, and the callers that wait for it.
final class StoreEnd: Sendable {
  private struct State {
    var isOver = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let engine: any StoreEngine
  private let claim: (any StoreClaim)?
  private let signal: (any ChangeSignal)?
  private let state = Mutex(State())

  init(_ engine: any StoreEngine, _ claim: (any StoreClaim)?, _ signal: (any ChangeSignal)?) {
    self.engine = engine
    self.claim = claim
    self.signal = signal
  }

  func finish(_ connection: (any StoreConnection)?) {
    if let connection {
      engine.tidy(connection)
      try? connection.close()
    }
    signal?.close()
    claim?.release()
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
