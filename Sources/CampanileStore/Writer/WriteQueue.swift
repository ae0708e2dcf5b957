import Dispatch
import Synchronization

/// A bounded FIFO queue of the writes that wait for the writer's thread.
final class WriteQueue: Sendable {
  private struct State {
    var items: [PendingWrite] = []
    /// Cancelled items in the list. They do not count towards the limit, and are removed once they outnumber the
    /// others.
    var cancelledCount = 0
    var isClosed = false
    var isWriterWaiting = false
    var overloaded: Int64 = 0
    var cancelled: Int64 = 0
  }

  private let path: String
  private let itemsMax: Int
  private let state = Mutex(State())
  private let arrival = DispatchSemaphore(value: 0)

  init(path: String, itemsMax: Int) {
    self.path = path
    self.itemsMax = itemsMax
  }

  var count: Int { state.withLock { $0.items.count - $0.cancelledCount } }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  var refusals: (overloaded: Int64, cancelled: Int64) { state.withLock { ($0.overloaded, $0.cancelled) } }

  /// Queues a write. Returns an error if it is refused: `overloaded`, `closed`, or cancelled by its caller.
  func append(_ item: PendingWrite) -> (any Error)? {
    let (failure, mustWake): ((any Error)?, Bool) = state.withLock { state in
      if state.isClosed { return (StoreError(.closed, "the store is closed", path: path), false) }
      guard state.items.count - state.cancelledCount < itemsMax else {
        state.overloaded += 1
        return (StoreError(.overloaded, "\(itemsMax) writes are already waiting", path: path), false)
      }
      guard item.advance(from: .created, to: .queued) else {
        state.cancelled += 1
        return (CancellationError(), false)
      }
      state.items.append(item)
      let mustWake = state.isWriterWaiting
      state.isWriterWaiting = false
      return (nil, mustWake)
    }
    if mustWake { arrival.signal() }
    return failure
  }

  /// Cancels a write that has not started.
  ///
  /// - Returns: Whether the caller must finish the write. False if it has started, or if `append` will refuse it.
  func cancel(_ item: PendingWrite) -> Bool {
    if item.advance(from: .created, to: .cancelled) { return false }
    return state.withLock { state in
      guard item.advance(from: .queued, to: .cancelled) else { return false }
      state.cancelled += 1
      state.cancelledCount += 1
      if state.cancelledCount > 64, state.cancelledCount * 2 > state.items.count {
        state.items.removeAll { $0.isCancelled }
        state.cancelledCount = 0
      }
      return true
    }
  }

  /// Waits for the next writes and returns them; nil once the queue is closed and empty. For the writer's thread only.
  func take(_ countMax: Int) -> [PendingWrite]? {
    while true {
      let (items, isOver): ([PendingWrite], Bool) = state.withLock { state in
        var items: [PendingWrite] = []
        // All items of a batch may have been cancelled while others follow.
        while items.isEmpty, !state.items.isEmpty { items = Self.takeNow(countMax, &state) }
        if items.isEmpty { state.isWriterWaiting = !state.isClosed }
        return (items, state.isClosed)
      }
      if !items.isEmpty { return items }
      if isOver { return nil }
      arrival.wait()
    }
  }

  /// Returns the waiting writes without blocking.
  func takeMore(_ countMax: Int) -> [PendingWrite] {
    state.withLock { Self.takeNow(countMax, &$0) }
  }

  /// Stops accepting writes; queued ones still run.
  func close() {
    let mustWake = state.withLock { state in
      state.isClosed = true
      defer { state.isWriterWaiting = false }
      return state.isWriterWaiting
    }
    if mustWake { arrival.signal() }
  }

  /// Takes items in order and marks them as running under the lock, so that a cancellation finds them either queued or
  /// started.
  private static func takeNow(_ countMax: Int, _ state: inout State) -> [PendingWrite] {
    guard !state.items.isEmpty else { return [] }
    var taken = state.items
    if taken.count <= countMax {
      state.items = []
      state.items.reserveCapacity(taken.count)
    } else {
      state.items.removeFirst(countMax)
      taken.removeLast(taken.count - countMax)
    }
    let count = taken.count
    taken.removeAll { !$0.advance(from: .queued, to: .running) }
    state.cancelledCount -= count - taken.count
    return taken
  }
}
