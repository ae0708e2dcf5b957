import Testing

@testable import CampanileStore

@Suite struct GatheringTests {
  private let limitNs: Int64 = 60_000_000_000

  @Test("a commit waits until as many writes have joined as had an answer or waited at the end of the last one")
  func waitsForExpectedWrites() {
    let gathering = Gathering()
    let now = ContinuousClock.now
    #expect((!gathering.isWorthwhile(0, now, limitNs: limitNs)) as Bool)
    gathering.expect(64, after: now - .seconds(400))
    #expect((gathering.isWorthwhile(63, now, limitNs: limitNs)) as Bool)
    #expect((!gathering.isWorthwhile(64, now, limitNs: limitNs)) as Bool)
    #expect((!gathering.isWorthwhile(1, now, limitNs: 0)) as Bool)
  }

  @Test("a commit waits for an eighth of the last one's time, and no longer than the limit")
  func waitsForShortTime() {
    let gathering = Gathering()
    let now = ContinuousClock.now
    gathering.expect(64, after: now - .seconds(400))
    #expect((!gathering.isWorthwhile(1, now - .seconds(61), limitNs: limitNs)) as Bool)
    #expect((gathering.isWorthwhile(1, now - .seconds(1), limitNs: limitNs)) as Bool)
    gathering.expect(64, after: now)
    #expect((!gathering.isWorthwhile(1, now - .seconds(60), limitNs: limitNs)) as Bool)
  }
}
