import NIOCore

/// Something that must happen at a deadline unless it is removed first. Kept by a `DeadlineWheel`, on one event loop.
public class DeadlineEntry {
  fileprivate var next: DeadlineEntry?
  fileprivate unowned(unsafe) var previous: DeadlineEntry?
  fileprivate var slot = -1
  fileprivate var dueTick: UInt64 = 0

  /// Called once, when the time has come. Overridden by what is kept.
  func deadlinePassed() {}
}

/// A hashed timing wheel: adding and removing a deadline costs a few pointer writes, whatever their number.
///
/// Deadlines fire up to one tick late and never early. The wheel has no clock: `advance` is told the time, and `earliestTick`
/// when it is worth telling it again.
struct DeadlineWheel {
  /// How late a deadline may fire.
  static let tickMs: Int64 = 4
  private static let slotCount = 1024
  /// Entries of later turns of the wheel that a look for the next one passes over.
  private static let passedMax = 64

  private var slots: [DeadlineEntry?] = Array(repeating: nil, count: slotCount)
  private let origin: NIODeadline
  /// Every tick before this one has fired.
  private var nextTick: UInt64 = 0
  private(set) var count = 0
  /// No entry is due before this tick; it may have been removed meanwhile.
  private(set) var earliestTick = UInt64.max

  init(now: NIODeadline) { origin = now }

  private func tick(of instant: NIODeadline) -> UInt64 {
    let nanoseconds = (instant - origin).nanoseconds
    return nanoseconds <= 0 ? 0 : UInt64(nanoseconds) / UInt64(Self.tickMs * 1_000_000)
  }

  /// Adds an entry; one that is kept already moves.
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

  /// Removes an entry; one that is not kept is left alone.
  mutating func remove(_ entry: DeadlineEntry) {
    guard entry.slot >= 0 else { return }
    if let previous = entry.previous { previous.next = entry.next } else { slots[entry.slot] = entry.next }
    entry.next?.previous = entry.previous
    entry.next = nil
    entry.previous = nil
    entry.slot = -1
    count -= 1
  }

  /// When a tick begins.
  func time(of tick: UInt64) -> NIODeadline {
    // More than a hundred years.
    origin + .nanoseconds(Int64(min(tick, 1 << 40)) * Self.tickMs * 1_000_000)
  }

  /// The first tick with an entry, or one before it.
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

  /// Takes out every entry whose time has come by `now`.
  mutating func advance(to now: NIODeadline) -> [DeadlineEntry] {
    let last = tick(of: now)
    defer { earliestTick = firstTick() }
    guard count > 0, last >= nextTick else {
      nextTick = max(nextTick, last)
      return []
    }
    var due: [DeadlineEntry] = []
    // After a long sleep one turn of the wheel reaches every slot.
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
