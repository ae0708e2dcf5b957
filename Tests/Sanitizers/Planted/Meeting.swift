import Synchronization

/// Unprotected memory, and a rendezvous for two threads that race for it.
final class Meeting: Sendable {
  nonisolated(unsafe) var word = 0
  private let arrived = Atomic(0)
  private let lock = Mutex(())
  private let list: Mutex<[Int]>

  init() {
    var numbers = [1, 2]
    numbers.reserveCapacity(100)
    list = Mutex(numbers)
  }

  /// Records an arrival. Neither this nor `meet` orders memory accesses: a sanitizer must learn nothing from them.
  func arrive() { arrived.add(1, ordering: .relaxed) }

  /// Waits until both have arrived, so that they run concurrently: ThreadSanitizer detects only races that occur. Gives
  /// up after some time, for a machine with one processor.
  func meet() {
    arrive()
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

  func addUnderLock() { lock.withLock { _ in word += 1 } }

  /// Returns the sum of a copy, which is read without the lock.
  @inline(never) func sumOfACopy() -> Int {
    let copy = list.withLock { $0 }
    return copy.reduce(0, +)
  }
  /// Appends in place, unless there are copies.
  func append(_ number: Int) { list.withLock { $0.append(number) } }
}
