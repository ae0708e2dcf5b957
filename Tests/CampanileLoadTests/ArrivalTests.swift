import Foundation
import Testing

@testable import CampanileLoad

/// Due times of calls: rates, spacings and shares.
@Suite struct ArrivalTests {
  private func arrivals(
    _ rate: ArrivalRate, _ spacing: ArrivalSpacing = .uniform, durationMs: Int64 = 10_000, share: Int = 0,
    of shares: Int = 1, seed: UInt64 = 1
  ) -> [Int64] {
    var schedule = ArrivalSchedule(
      rate: rate, spacing: spacing, durationMs: durationMs, share: share, of: shares, seed: seed)
    var times: [Int64] = []
    while let next = schedule.next(), times.count < 1_000_000 { times.append(next) }
    return times
  }

  @Test func constantRateIsEvenlySpaced() {
    let times = arrivals(.constant(100), durationMs: 1_000)
    #expect(times.count == 100)
    for (index, time) in times.enumerated() { #expect(abs(time - Int64(index) * 10_000_000) <= 1) }
  }

  @Test func stepsTakeEqualPartsOfRun() {
    let times = arrivals(.steps([100, 300, 200]), durationMs: 9_000)
    let counts = [0, 3, 6].map { start in
      times.filter { ($0 >= Int64(start) * 1_000_000_000) && ($0 < Int64(start + 3) * 1_000_000_000) }.count
    }
    #expect(counts == [300, 900, 600])
  }

  @Test(arguments: [(0.0, 1000.0), (1000, 0), (200, 400)])
  func rampArrivalsMatchIntegralOfRate(_ from: Double, _ to: Double) {
    let times = arrivals(.ramp(from: from, to: to))
    #expect(abs(times.count - Int((from + to) / 2 * 10)) <= 1)
    // After the first half: from·t + (to − from)·t²/2T with t = T/2.
    let half = times.filter { $0 < 5_000_000_000 }.count
    #expect(abs(half - Int(from * 5 + (to - from) * 25 / 20)) <= 2)
    #expect(times == times.sorted())
  }

  @Test func poissonArrivalsHaveExponentialGaps() {
    let times = arrivals(.constant(1_000), .poisson, durationMs: 100_000)
    #expect(abs(Double(times.count) - 100_000) < 5 * 100_000.0.squareRoot())
    let gaps = zip(times.dropFirst(), times).map { Double($0 - $1) / 1e6 }
    let mean = gaps.reduce(0, +) / Double(gaps.count)
    let deviation = (gaps.map { ($0 - mean) * ($0 - mean) }.reduce(0, +) / Double(gaps.count)).squareRoot()
    // The mean and the standard deviation of an exponential distribution are equal.
    #expect(abs(mean - 1) < 0.03 && abs(deviation - 1) < 0.03)
    let overTwo = Double(gaps.filter { $0 > 2 }.count) / Double(gaps.count)
    #expect(abs(overTwo - exp(-2)) < 0.01)
  }

  @Test func sharesAddUpToSchedule() {
    let parts = (0..<4).flatMap { arrivals(.constant(1_000), durationMs: 2_000, share: $0, of: 4) }.sorted()
    #expect(parts.count == 2_000)
    for (index, time) in parts.enumerated() { #expect(abs(time - Int64(index) * 1_000_000) <= 2) }
  }

  @Test func sameSeedGivesSameArrivals() {
    #expect(arrivals(.constant(500), .poisson, seed: 7) == arrivals(.constant(500), .poisson, seed: 7))
    #expect(arrivals(.constant(500), .poisson, seed: 7) != arrivals(.constant(500), .poisson, seed: 8))
  }

  @Test func ratesAreParsed() throws {
    #expect(try ArrivalRate("5000") == .constant(5_000))
    #expect(try ArrivalRate("0.5") == .constant(0.5))
    #expect(try ArrivalRate("1000,2000,4000") == .steps([1_000, 2_000, 4_000]))
    #expect(try ArrivalRate("0..8000") == .ramp(from: 0, to: 8_000))
    #expect(try ArrivalRate("8000..100").peakPerSecond == 8_000)
  }

  @Test(arguments: [
    "", "0", "-1", "abc", "nan", "inf", "1e9", "1,,2", "1,0", "0..0", "..", "5..", "..5", "1..2..3",
    String(repeating: "1,", count: 100) + "1",
  ])
  func invalidRatesAreRejected(_ text: String) {
    #expect { try ArrivalRate(text) } throws: { ($0 as? LoadError)?.code == .rateInvalid }
  }
}
