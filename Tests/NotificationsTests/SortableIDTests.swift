import CampanileService
import TestSupport
import Testing

@testable import Notifications

@Suite struct SortableIDTests {
  private func generator(_ clock: TestClock, random: UInt64? = nil) -> SortableIDGenerator {
    SortableIDGenerator(
      clockMs: { clock.nowMs },
      random: { random ?? UInt64.random(in: .min ... .max) })
  }

  @Test func haveTwentyTwoCharactersAfterPrefix() {
    let (id, timeMs) = generator(TestClock(1_770_000_000_123)).next(prefix: SortableID.notificationPrefix)
    #expect(id.utf8.count == 24 && id.hasPrefix("n_") && timeMs == 1_770_000_000_123)
    #expect(id.dropFirst(2).allSatisfy { "0123456789abcdefghjkmnpqrstvwxyz".contains($0) })
  }

  @Test(arguments: [nil, 0, UInt64.max] as [UInt64?])
  func ascendEvenIfClockGoesBack(_ random: UInt64?) {
    let clock = TestClock(1_000)
    let ids = generator(clock, random: random)
    var last = ""
    var lastTimeMs: Int64 = 0
    for step in 0..<20_000 {
      clock.nowMs = [1_000, 999, 5_000, 0, -7, .max, 20][step % 7] + Int64(step % 7 == 5 ? -step : step)
      if step < 5_000, step % 7 == 5 { clock.nowMs = 2_000 }
      let (id, timeMs) = ids.next(prefix: SortableID.notificationPrefix)
      #expect(id > last && timeMs >= lastTimeMs && id.utf8.count == 24)
      #expect(id >= SortableID.lowerBound(prefix: SortableID.notificationPrefix, timeMs: timeMs))
      last = id
      lastTimeMs = timeMs
    }
  }

  @Test func lowerBoundsSplitTimes() {
    let clock = TestClock(0)
    let ids = generator(clock)
    for timeMs in [1, 31, 32, 1_023, 1_024, 1_770_000_000_000, 253_402_300_799_998] as [Int64] {
      clock.nowMs = timeMs
      let (id, _) = ids.next(prefix: SortableID.notificationPrefix)
      #expect(id >= SortableID.lowerBound(prefix: SortableID.notificationPrefix, timeMs: timeMs))
      #expect(id < SortableID.lowerBound(prefix: SortableID.notificationPrefix, timeMs: timeMs + 1))
      #expect(id < "n_~")
    }
  }
}
