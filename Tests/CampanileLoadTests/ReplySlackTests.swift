import Testing

@testable import CampanileLoad

@Suite struct ReplySlackTests {
  /// Simulates a reply every `everyNs` until the timer fires.
  private func fire(_ slack: inout ReplySlack, _ nowNs: inout Int64, everyNs: Int64) {
    let firesNs = nowNs + slack.ns
    while nowNs + everyNs < firesNs {
      nowNs += everyNs
      slack.turn(nowNs: nowNs)
    }
    nowNs = firesNs
    slack.fired(nowNs: nowNs)
  }

  @Test func timerGrowsWhileRepliesArrive() {
    var (slack, nowNs) = (ReplySlack(), Int64(9))
    var seen: [Int64] = []
    for _ in 0..<6 {
      seen.append(slack.ns / 1_000)
      fire(&slack, &nowNs, everyNs: 60_000)
    }
    #expect(seen == [500, 1_000, 2_000, 4_000, 4_000, 4_000])
  }

  @Test func gapResetsTimer() {
    var (slack, nowNs) = (ReplySlack(), Int64(9))
    for _ in 0..<3 { fire(&slack, &nowNs, everyNs: 60_000) }
    #expect(slack.ns == ReplySlack.maxNs)
    fire(&slack, &nowNs, everyNs: ReplySlack.minNs)
    #expect(slack.ns == ReplySlack.minNs)
    // No reply before the timer.
    fire(&slack, &nowNs, everyNs: 9_000_000)
    #expect(slack.ns == ReplySlack.minNs)
    fire(&slack, &nowNs, everyNs: ReplySlack.minNs / 10)
    #expect(slack.ns == 2 * ReplySlack.minNs)
  }

  @Test func minimumIsLessThanLateLimit() {
    #expect(ReplySlack.minNs < LoadPlan.lateMs * 1_000_000)
  }
}
