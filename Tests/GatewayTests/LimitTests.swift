import CampanileBase
import CampanileRPC
import Testing

@testable import Gateway

/// The limits as state machines, without connections and clocks.
@Suite struct LimitTests {
  private let second: Int64 = 1_000_000_000

  @Test func refusalsBeyondTheirRateWait() {
    let pace = RefusalPace()
    let intervalNs = second / RefusalPace.perSecond
    for _ in 0..<RefusalPace.burst { #expect(pace.restNs(nowNs: second) == 0) }
    // Each waits for its own turn.
    let owed = (0..<3).map { _ in pace.restNs(nowNs: second) }
    #expect(owed == [intervalNs, 2 * intervalNs, 3 * intervalNs])
    #expect(pace.restNs(nowNs: second + 4 * intervalNs) == 0)
    // However many there are, the wait is limited.
    for _ in 0..<20_000 { #expect(pace.restNs(nowNs: 2 * second) <= RefusalPace.restMaxNs) }
    #expect(pace.restNs(nowNs: 2 * second) == RefusalPace.restMaxNs)
    #expect(pace.restNs(nowNs: 4 * second) == 0)
  }

  @Test func aBucketGivesItsBurstAndThenItsRate() throws {
    let bucket = TokenBucket(try #require(RateLimit(perSecond: 10, burst: 3)))
    var state = TokenBucket.full
    func take(_ nowNs: Int64) -> Int64 {
      let (next, waitNs) = bucket.take(fullAtNs: state, nowNs: nowNs)
      state = next
      return waitNs
    }
    #expect(bucket.remaining(fullAtNs: state, nowNs: 0) == 3)
    let first = [take(0), take(0), take(0), take(0)]
    #expect(first == [0, 0, 0, second / 10])
    #expect(bucket.remaining(fullAtNs: state, nowNs: 0) == 0)
    #expect(bucket.resetMs(fullAtNs: state, nowNs: 0) == 300)
    // A refusal costs nothing: the token is available at the announced time.
    let later = [take(second / 10 - 1), take(second / 10), take(second / 10)]
    #expect(later == [1, 0, second / 10])
    // A long pause restores the burst, and no more.
    let afterPause = [take(100 * second), take(100 * second), take(100 * second), take(100 * second)]
    #expect(afterPause == [0, 0, 0, second / 10])
  }

  @Test func bucketWorksAtItsExtremes() throws {
    let fast = TokenBucket(try #require(RateLimit(perSecond: RateLimit.perSecondMax, burst: RateLimit.burstMax)))
    let slow = TokenBucket(try #require(RateLimit(perSecond: 1, burst: RateLimit.burstMax)))
    for bucket in [fast, slow] {
      #expect(bucket.take(fullAtNs: TokenBucket.full, nowNs: 0).waitNs == 0)
      #expect(bucket.take(fullAtNs: TokenBucket.full, nowNs: second * 86_400 * 365).waitNs == 0)
    }
  }

  @Test(arguments: [("10", "10:20"), ("10:3", "10:3"), ("10000000:1", "10000000:1")])
  func validRatesAreParsed(text: String, whole: String) { #expect(RateLimit(text)?.description == whole) }

  @Test(arguments: ["", "0", "-1", "x", "1:", "1:0", "1:x", ":1", "1:2:3", "10000001", "9223372036854775807", "1 "])
  func invalidRatesAreRefused(text: String) { #expect(RateLimit(text) == nil) }

  @Test func sharedBucketsReportTheirQuota() throws {
    let bucket = SharedBucket(RateLimit(perSecond: 10, burst: 2))
    #expect(bucket.take(nowNs: 0) == 0)
    #expect(bucket.status(nowNs: 0) == QuotaStatus(limit: 2, remaining: 1, reset: .milliseconds(100)))
    #expect(bucket.waitNs(nowNs: 0) == 0)
    #expect(bucket.take(nowNs: 0) == 0 && bucket.take(nowNs: 0) == second / 10)
    #expect(!bucket.isFull(nowNs: 0) && bucket.isFull(nowNs: second / 5))
  }

  @Test func threadsCannotTakeMoreThanTheBucketHas() async throws {
    let bucket = SharedBucket(RateLimit(perSecond: 1, burst: 1000))
    let taken = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 { group.addTask { (0..<1000).count(where: { _ in bucket.take(nowNs: 0) == 0 }) } }
      return await group.reduce(0, +)
    }
    #expect(taken == 1000)
  }

  @Test func gaugesStopAtTheirLimit() {
    let gauge = SharedGauge(max: 2)
    let entered = [gauge.enter(), gauge.enter(), gauge.enter()]
    #expect(entered == [true, true, false])
    gauge.leave()
    #expect(gauge.count == 1)
  }

  // MARK: shares

  private func table(_ countMax: Int) -> ShareTable {
    ShareTable(max: countMax) { CallerShare(rate: RateLimit(perSecond: 1, burst: 2), callsMax: 1) }
  }

  @Test func oneNameHasOneShare() {
    let table = table(10)
    #expect(table.share(of: "a", nowNs: 0) === table.share(of: "a", nowNs: 0))
    #expect(table.share(of: "a", nowNs: 0) !== table.share(of: "b", nowNs: 0))
  }

  @Test func fullTableForgetsOnlyUnusedShares() {
    let table = table(3)
    let held = table.share(of: "held", nowNs: 0)
    _ = table.share(of: "taken", nowNs: 0).rate.take(nowNs: 0)
    _ = table.share(of: "idle", nowNs: 0)
    let newcomer = table.share(of: "new", nowNs: 0)
    #expect(table.count == 3)
    #expect(table.share(of: "held", nowNs: 0) === held)
    #expect(table.share(of: "new", nowNs: 0) === newcomer)
    // No share can be forgotten for the next names, so they use a common one until there is room.
    let second = table.share(of: "second", nowNs: 1)
    #expect(second === table.share(of: "third", nowNs: 1))
    #expect(second !== newcomer)
    let later = table.share(of: "fourth", nowNs: 10 * self.second)
    #expect(later !== second && table.count == 3)
  }

  // MARK: overload

  @Test func bulkIsRefusedBeforeOtherCalls() {
    var guarded = BackendGuard(callsMax: 4, streamsMax: 2)
    func enter(stream: Bool = false, bulk: Bool = false, late: Bool = false) -> BackendGuard.Refusal? {
      guarded.enter(isStream: stream, isBulk: bulk, isLoopLate: late)
    }
    #expect([enter(stream: true, bulk: true), enter(bulk: true), enter()] == [nil, nil, nil])
    // Two of four permits are in use, so bulk calls must wait.
    #expect([enter(bulk: true), enter(stream: true, bulk: true)] == [.bulkWaits, .bulkWaits])
    #expect([enter(), enter(), enter()] == [nil, nil, .full])
    guarded.leave(isStream: false)
    #expect(enter() == nil)
    for _ in 0..<4 { guarded.leave(isStream: false) }
    #expect([enter(stream: true, bulk: true), enter(stream: true, bulk: true)] == [nil, .full])
    guarded.leave(isStream: true)
    #expect([enter(bulk: true, late: true), enter(late: true)] == [.bulkWaits, nil])
    #expect(guarded.calls == 1 && guarded.streams == 1)
  }

  @Test func loopIsLateAfterLateTicks() {
    var lag = LoopLag(lateMs: 250)
    let ms: Int64 = 1_000_000
    var now: Int64 = 0
    func tick(afterMs: Int64) -> Bool {
      now += afterMs * ms
      lag.tick(nowNs: now, periodMs: 100)
      return lag.isLate
    }
    let inTime = [tick(afterMs: 0), tick(afterMs: 350), tick(afterMs: 350), tick(afterMs: 350), tick(afterMs: 350)]
    #expect(inTime == [false, false, false, false, false])
    let late = [tick(afterMs: 351), tick(afterMs: 351), tick(afterMs: 351), tick(afterMs: 900), tick(afterMs: 350)]
    #expect(late == [false, false, true, true, false])
    let pause = [tick(afterMs: 60_000), tick(afterMs: 100)]
    #expect(pause == [false, false])
  }
}
