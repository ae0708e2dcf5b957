import Testing

@testable import CampanileStore

@Suite struct GatheringTests {
  private func gathering(limitSeconds: Int64, lastSeconds: Int64) -> Gathering {
    let gathering = Gathering(limitNs: limitSeconds * 1_000_000_000)
    let commit = CommitObservation(
      writes: 40, transactionNs: lastSeconds * 1_000_000_000, commitNs: 0, pendingWrites: 24, failure: nil)
    gathering.note(commit, writesMax: 100)
    return gathering
  }

  @Test("a commit waits until as many writes have joined as the last one had, and as waited at its end")
  func waitsForExpectedWrites() {
    let now = ContinuousClock.now
    let gathering = gathering(limitSeconds: 60, lastSeconds: 400)
    #expect((gathering.isWorthwhile(63, now)) as Bool)
    #expect((!gathering.isWorthwhile(64, now)) as Bool)
    #expect((!Gathering(limitNs: 60_000_000_000).isWorthwhile(0, now)) as Bool)
    #expect((!self.gathering(limitSeconds: 0, lastSeconds: 400).isWorthwhile(1, now)) as Bool)
  }

  @Test("a commit waits for an eighth of the last one's time, and no longer than the limit")
  func waitsForShortTime() {
    let now = ContinuousClock.now
    let limited = gathering(limitSeconds: 60, lastSeconds: 4_000)
    #expect((limited.isWorthwhile(1, now - .seconds(1))) as Bool)
    #expect((!limited.isWorthwhile(1, now - .seconds(61))) as Bool)
    #expect((!gathering(limitSeconds: 60, lastSeconds: 80).isWorthwhile(1, now - .seconds(11))) as Bool)
  }
}
