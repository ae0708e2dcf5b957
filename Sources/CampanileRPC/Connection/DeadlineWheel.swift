import NIOCore

/// An entry of a `DeadlineWheel` that fires at its deadline unless it is removed first. Used on one event loop.
public class DeadlineEntry {
  fileprivate var next: DeadlineEntry?
  fileprivate unowned(unsafe) var previous: DeadlineEntry?
  fileprivate var slot = -1
  fileprivate var dueTick: UInt64 = 0

  /// Called once, when the deadline has passed. Overridden by subclasses.
  func deadlinePassed() {}
}

/// A hashed timing wheel: adding and removing a deadline costs a few pointer writes, whatever their number.
///
/// Deadlines fire up to one tick late and never early. The wheel has no clock: callers pass the time to `advance`, and
/// `earliestTick` is the next tick at which a call is useful.
struct DeadlineWheel {
  /// The maximum lateness of a deadline.
  static let tickMs: Int64 = 4
  private static let slotCount = 1024
  /// The maximum number of entries of later revolutions that a search for the first tick skips.
  private static let passedMax = 64

  private var slots: [DeadlineEntry?] = Array(repeating: nil, count: slotCount)
  private let origin: NIODeadline
  /// Every tick before this one has fired.
  private var nextTick: UInt64 = 0
  private(set) var count = 0
  /// A lower bound on the due ticks of all entries; the entry that set it may have been removed.
  private(set) var earliestTick = UInt64.max

  init(now: NIODeadline) { origin = now }

  private func tick(of instant: NIODeadline) -> UInt64 {
    let nanoseconds = (instant - origin).nanoseconds
    return nanoseconds <= 0 ? 0 : UInt64(nanoseconds) / UInt64(Self.tickMs * 1_000_000)
  }

  /// Adds an entry, or moves it if it is already in the wheel.
  mutating func add(_ entry: DeadlineEntry, at deadline: Deadline) {
    remove(entry)
    // One tick later than the tick it falls into, so that it never fires early.
    entry.dueTick = max(tick(of: deadline.instant) + 1, nextTick)
    let slot = Int(entry.dueTick % UInt64(Self.slotCount))
    entry.slot = slot
    earliestTick = min(earliestTick, entry.dueTick)
    entry.next = slots[slot]
    entry.next?.previous = entry
    entry.previous = nil
    slots[slot] = entry
    count += 1
  }

  /// Removes an entry; no effect if it is not in the wheel.
  mutating func remove(_ entry: DeadlineEntry) {
    guard entry.slot >= 0 else { return }
    if let previous = entry.previous { previous.next = entry.next } else { slots[entry.slot] = entry.next }
    entry.next?.previous = entry.previous
    entry.next = nil
    entry.previous = nil
    entry.slot = -1
    count -= 1
  }

  /// Returns the time at which a tick begins.
  func time(of tick: UInt64) -> NIODeadline {
    // The cap is more than a hundred years.
    origin + .nanoseconds(Int64(min(tick, 1 << 40)) * Self.tickMs * 1_000_000)
  }

  /// Returns the first tick with an entry, or a tick before it.
  private func firstTick() -> UInt64 {
    guard count > 0 else { return .max }
    var (passed, firstPassed) = (0, UInt64.max)
    for tick in nextTick..<nextTick + UInt64(Self.slotCount) {
      var entry = slots[Int(tick % UInt64(Self.slotCount))]
      while let current = entry {
        guard current.dueTick > tick, passed < Self.passedMax else { return tick }
        passed += 1
        firstPassed = min(firstPassed, current.dueTick)
        entry = current.next
      }
    }
    return firstPassed
  }

  /// Removes and returns every entry that is due by `now`.
  mutating func advance(to now: NIODeadline) -> [DeadlineEntry] {
    let last = tick(of: now)
    defer { earliestTick = firstTick() }
    guard count > 0, last >= nextTick else {
      nextTick = max(nextTick, last)
      return []
    }
    var due: [DeadlineEntry] = []
    // After a long pause, one revolution of the wheel reaches every slot.
    let end = min(last, nextTick + UInt64(Self.slotCount) - 1)
    for tick in nextTick...end {
      var entry = slots[Int(tick % UInt64(Self.slotCount))]
      while let current = entry {
        entry = current.next
        if current.dueTick <= last {
          remove(current)
          due.append(current)
        }
      }
    }
    nextTick = last + 1
    return due
  }
}
