import CampanileBase
import NIOCore
import NIOEmbedded
import Testing

@testable import CampanileRPC

@Suite struct DeadlineWheelTests {
  private final class Entry: DeadlineEntry {}

  /// Advances the wheel as a timer for `earliestTick` would; returns `nil` before that tick.
  private func fire(_ wheel: inout DeadlineWheel, at now: NIODeadline) -> [DeadlineEntry]? {
    guard wheel.earliestTick < .max, wheel.time(of: wheel.earliestTick) <= now else { return nil }
    return wheel.advance(to: now)
  }

  @Test func firesNeverEarlyAndAtMostATickLate() {
    let origin = NIODeadline.uptimeNanoseconds(5_000_000_000)
    var wheel = DeadlineWheel(now: origin)
    var due: [ObjectIdentifier: Int64] = [:]
    var entries: [Entry] = []
    for ms in [0, 1, 3, 4, 5, 100, 4095, 4096, 4097, 20_000] as [Int64] {
      let entry = Entry()
      entries.append(entry)
      due[ObjectIdentifier(entry)] = ms
      wheel.add(entry, at: Deadline(origin + .milliseconds(ms)))
    }
    for now in stride(from: Int64(0), through: 20_100, by: 1) {
      for entry in wheel.advance(to: origin + .milliseconds(now)) {
        let asked = due.removeValue(forKey: ObjectIdentifier(entry)) ?? -1
        #expect(now >= asked)
        #expect(now <= asked + 2 * DeadlineWheel.tickMs)
      }
    }
    #expect(due.isEmpty)
    #expect(wheel.count == 0)
  }

  @Test func removesAndMovesEntries() {
    let origin = NIODeadline.uptimeNanoseconds(1)
    var wheel = DeadlineWheel(now: origin)
    let entries = (0..<100).map { _ in Entry() }
    for entry in entries { wheel.add(entry, at: Deadline(origin + .milliseconds(10))) }
    for entry in entries[..<50] { wheel.remove(entry) }
    wheel.add(entries[99], at: Deadline(origin + .milliseconds(5000)))
    wheel.remove(entries[0])
    #expect(wheel.advance(to: origin + .milliseconds(100)).count == 49)
    #expect(wheel.advance(to: origin + .seconds(60)).count == 1)
    #expect(wheel.advance(to: origin + .seconds(120)).isEmpty)
  }

  /// Advanced only at `earliestTick`, the wheel fires nothing early or more than two ticks late, even if entries are
  /// removed.
  @Test(arguments: [UInt64(1), 2, 3, 4, 5]) func advancingOnlyAtEarliestTickMissesNothing(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let origin = NIODeadline.uptimeNanoseconds(7_777)
    var wheel = DeadlineWheel(now: origin)
    var due: [ObjectIdentifier: Int64] = [:]
    var entries: [Entry] = []
    var looks = 0
    for nowMs in Int64(0)..<60_000 {
      let now = origin + .milliseconds(nowMs)
      if let fired = fire(&wheel, at: now) {
        looks += 1
        for entry in fired {
          let asked = due.removeValue(forKey: ObjectIdentifier(entry)) ?? .max
          #expect(asked <= nowMs && nowMs <= asked + 2 * DeadlineWheel.tickMs)
        }
      }
      if nowMs < 30_000, Int.random(in: 0..<10, using: &random) == 0 {
        let entry = Entry()
        let asked = nowMs + Int64.random(in: 0...[10, 1_000, 20_000].randomElement(using: &random)!, using: &random)
        entries.append(entry)
        due[ObjectIdentifier(entry)] = asked
        wheel.add(entry, at: Deadline(origin + .milliseconds(asked)))
      }
      if let entry = entries.randomElement(using: &random), Int.random(in: 0..<20, using: &random) == 0 {
        wheel.remove(entry)
        due[ObjectIdentifier(entry)] = nil
      }
    }
    #expect(due.isEmpty && wheel.count == 0 && wheel.earliestTick == .max)
    #expect(looks <= entries.count + 60_000 / (1_024 * Int(DeadlineWheel.tickMs)) + 1)
  }

  /// Calls that end long before their deadlines cause neither a wake-up each nor one per tick: each would interrupt
  /// other calls.
  @Test func removedEntriesCauseFewWakeUps() {
    let origin = NIODeadline.uptimeNanoseconds(1)
    var wheel = DeadlineWheel(now: origin)
    var open: [Entry] = []
    var looks = 0
    for nowMs in Int64(0)..<60_000 {
      let now = origin + .milliseconds(nowMs)
      if let fired = fire(&wheel, at: now) {
        looks += 1
        #expect(fired.isEmpty)
      }
      open.append(Entry())
      wheel.add(open[open.count - 1], at: Deadline(now + .seconds(30)))
      if open.count > 8 { wheel.remove(open.removeFirst()) }
    }
    #expect(looks <= 2)
  }

  /// A search skips only a limited number of entries of later revolutions.
  @Test func distantEntriesCauseBoundedWakeUps() {
    let origin = NIODeadline.uptimeNanoseconds(1)
    var wheel = DeadlineWheel(now: origin)
    let entries = (0..<10_000).map { _ in Entry() }
    for (index, entry) in entries.enumerated() {
      wheel.add(entry, at: Deadline(origin + .seconds(600) + .milliseconds(Int64(index))))
    }
    let near = Entry()
    wheel.add(near, at: Deadline(origin + .milliseconds(10)))
    #expect(wheel.advance(to: wheel.time(of: wheel.earliestTick)).count == 1)
    var looks = 0
    while wheel.time(of: wheel.earliestTick) < origin + .seconds(600) {
      #expect(wheel.advance(to: wheel.time(of: wheel.earliestTick)).isEmpty)
      looks += 1
    }
    #expect(looks <= 600_000 / Int(DeadlineWheel.tickMs))
    #expect(wheel.count == 10_000)
  }

  @Test func distantFutureDeadlineDoesNotFire() {
    let origin = NIODeadline.uptimeNanoseconds(1)
    var wheel = DeadlineWheel(now: origin)
    let entry = Entry()
    wheel.add(entry, at: Deadline(.distantFuture))
    #expect(wheel.time(of: wheel.earliestTick) > origin + .hours(24 * 365 * 100))
    #expect(wheel.advance(to: origin + .hours(1)).isEmpty && wheel.count == 1)
  }
}

/// The timer that a loop shares among its deadlines.
@Suite struct LoopContextTests {
  private final class Entry: DeadlineEntry {
    var passed = 0
    override func deadlinePassed() { passed += 1 }
  }

  @Test func timerIsSetForFirstDeadline() {
    let loop = EmbeddedEventLoop()
    let context = LoopContext(loop)
    func deadline(_ ms: Int64) -> Deadline { Deadline(loop.now + .milliseconds(ms)) }
    let (late, removed, soon) = (Entry(), Entry(), Entry())
    context.add(late, at: deadline(30_000))
    context.add(removed, at: deadline(50))
    context.add(soon, at: deadline(20))
    context.remove(removed)
    loop.advanceTime(by: .milliseconds(19))
    #expect(soon.passed == 0)
    loop.advanceTime(by: .milliseconds(9))
    #expect(soon.passed == 1)
    loop.advanceTime(by: .milliseconds(29_000))
    // An entry after the timer was moved, and one that is already overdue.
    let (again, over) = (Entry(), Entry())
    context.add(again, at: deadline(5))
    context.add(over, at: deadline(-5))
    loop.advanceTime(by: .milliseconds(13))
    #expect(again.passed == 1 && over.passed == 1 && late.passed == 0)
    loop.advanceTime(by: .milliseconds(2_000))
    #expect(late.passed == 1 && removed.passed == 0 && soon.passed == 1)
  }

  /// An entry that a callback adds fires at its own deadline.
  @Test func deadlineMayAddAnother() {
    final class Chain: DeadlineEntry {
      var times = 0
      var next: (() -> Void)?
      override func deadlinePassed() {
        times += 1
        next?()
      }
    }
    let loop = EmbeddedEventLoop()
    let context = LoopContext(loop)
    let entry = Chain()
    entry.next = { [unowned entry] in context.add(entry, at: Deadline(loop.now + .milliseconds(10))) }
    context.add(entry, at: Deadline(loop.now + .milliseconds(10)))
    for _ in 0..<100 { loop.advanceTime(by: .milliseconds(1)) }
    #expect((5...9).contains(entry.times))
    entry.next = nil
    loop.advanceTime(by: .milliseconds(1_000))
    #expect((6...10).contains(entry.times))
  }
}
