import CampanileBase
import Testing

@Suite struct BackoffTests {
  @Test func delayGrowsToCap() {
    let backoff = Backoff()
    let delays = (1...20).map { backoff.delayMs(failures: $0, random: 0.5) }
    #expect(delays.prefix(3) == [1_000, 1_600, 2_560])
    #expect(delays == delays.sorted())
    #expect(delays.last == 120_000)
  }

  @Test(arguments: [(0.0, 800), (0.5, 1_000), (0.999_999, 1_199), (1.0, 1_200), (-3.0, 800), (7.0, 1_200)])
  func jitterIsTwentyPercent(random: Double, expected: Int64) {
    #expect(Backoff().delayMs(failures: 1, random: random) == expected)
  }

  @Test(arguments: [Int.min, -1, 0, 1, 1_000_000, Int.max])
  func extremeValuesStayBounded(failures: Int) {
    var backoff = Backoff()
    #expect(backoff.delayMs(failures: failures, random: 0.5) >= 0)
    backoff.multiplier = 1e300
    #expect(backoff.delayMs(failures: failures, random: 0.5) <= 120_000)
    backoff.multiplier = .infinity
    backoff.delayMax = .milliseconds(Int64.max)
    #expect(backoff.delayMs(failures: failures, random: 1) >= 0)
    backoff.multiplier = .nan
    backoff.initialDelay = .milliseconds(Int64.min)
    #expect(backoff.delayMs(failures: failures, random: .nan) >= 0)
  }
}
