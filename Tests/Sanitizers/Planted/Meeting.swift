import Synchronization

/// Unprotected memory, and a rendezvous for two threads that race for it.
final class Meeting: Sendable {
  nonisolated(unsafe) var word = 0
  private let arrived = Atomic(0)
  private let lock = Mutex(())

  /// Waits until both have arrived, so that they run concurrently: ThreadSanitizer detects only races that occur. Gives
  /// up after some time, for a machine with one processor. Orders no memory accesses: a sanitizer must learn nothing
  /// from it.
  private func meet() {
    arrived.add(1, ordering: .relaxed)
    var looks = 0
    while arrived.load(ordering: .relaxed) < 2, looks < 1_000_000_000 { looks += 1 }
  }

  /// Meets the other thread and races with it.
  func race() {
    meet()
    for _ in 0..<1_000 { word += 1 }
  }

  /// Races while holding a lock, which has no effect if the other thread does not take it.
  func raceUnderLock() { lock.withLock { _ in race() } }
}
