import Synchronization

/// Memory that nothing guards, and the place where two who race for it meet.
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

  /// Neither this nor `meet` orders anything: a sanitizer must learn nothing from them.
  func arrive() { arrived.add(1, ordering: .relaxed) }

  /// Waits until both are here, so that they run at the same time: a sanitizer of threads knows only what happened. Gives up after a
  /// while, for a machine with one processor.
  func meet() {
    arrive()
    var looks = 0
    while arrived.load(ordering: .relaxed) < 2, looks < 1_000_000_000 { looks += 1 }
  }

  /// Meets the other and races with it.
  func race() {
    meet()
    for _ in 0..<1_000 { word += 1 }
  }

  /// The same under a lock, which helps nobody if the other does not take it.
  func raceUnderLock() { lock.withLock { _ in race() } }

  func addUnderLock() { lock.withLock { _ in word += 1 } }

  /// Of a copy, which is read without the lock.
  @inline(never) func sumOfACopy() -> Int {
    let copy = list.withLock { $0 }
    return copy.reduce(0, +)
  }
  /// In place, unless there are copies.
  func append(_ number: Int) { list.withLock { $0.append(number) } }
}
