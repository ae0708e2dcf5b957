import Synchronization

/// A port that becomes known once a server listens on it. Any number of tasks may wait for it.
final class RunningPort: Sendable {
  private struct State {
    var port: Int?
    var waiting: [UInt64: CheckedContinuation<Int?, Never>] = [:]
    var nextID: UInt64 = 0
    var cancelled: Set<UInt64> = []
  }
  private let state = Mutex(State())

  func set(_ port: Int) {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      state.port = port
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume(returning: port) }
  }

  /// Waits for the port.
  ///
  /// - Returns: The port, or nil if the task is cancelled first.
  func port() async -> Int? {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known: Int?? = state.withLock { state in
          if let port = state.port { return .some(port) }
          if state.cancelled.remove(id) != nil { return .some(nil) }
          state.waiting[id] = continuation
          return nil
        }
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        let waiting = state.waiting.removeValue(forKey: id)
        if waiting == nil, state.port == nil { state.cancelled.insert(id) }
        return waiting
      }
      waiting?.resume(returning: nil)
    }
  }
}
