import Testing

@testable import CampanileLoad

@Suite struct ReplySlackTests {
  /// Replies come each `everyNs` until the timer that was set fires.
  private func fire(_ slack: inout ReplySlack, _ nowNs: inout Int64, everyNs: Int64) {
    let firesNs = nowNs + slack.ns
    while nowNs + everyNs < firesNs {
      nowNs += everyNs
      slack.turn(nowNs: nowNs)
    }
    nowNs = firesNs
    slack.fired(nowNs: nowNs)
  }

  @Test func theTimerGrowsWhileRepliesCome() {
    var (slack, nowNs) = (ReplySlack(), Int64(9))
    var seen: [Int64] = []
    for _ in 0..<6 {
      seen.append(slack.ns / 1_000)
      fire(&slack, &nowNs, everyNs: 60_000)
    }
    #expect(seen == [500, 1_000, 2_000, 4_000, 4_000, 4_000])
  }

  @Test func aGapMakesItShort() {
    var (slack, nowNs) = (ReplySlack(), Int64(9))
    for _ in 0..<3 { fire(&slack, &nowNs, everyNs: 60_000) }
    #expect(slack.ns == ReplySlack.maxNs)
    fire(&slack, &nowNs, everyNs: ReplySlack.minNs)
    #expect(slack.ns == ReplySlack.minNs)
    // Nothing has come at all.
    fire(&slack, &nowNs, everyNs: 9_000_000)
    #expect(slack.ns == ReplySlack.minNs)
    fire(&slack, &nowNs, everyNs: ReplySlack.minNs / 10)
    #expect(slack.ns == 2 * ReplySlack.minNs)
  }

  @Test func theShortestIsLessThanWhatIsLate() {
    #expect(ReplySlack.minNs < LoadPlan.lateMs * 1_000_000)
  }
}
