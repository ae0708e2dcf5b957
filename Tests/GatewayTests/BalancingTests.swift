import CampanileBase
import CampanileRPC
import Testing

@testable import Gateway

@Suite struct BalancingTests {
  private typealias Candidate = LoadBalancer.Candidate

  @Test func theLessLoadedOfTwoIsChosen() {
    var balancer = LoadBalancer(seed: 1)
    for _ in 0..<100 {
      #expect(balancer.choose([Candidate(load: 9, tier: .ready), Candidate(load: 3, tier: .ready)]) == 1)
    }
  }

  @Test func equalAddressesShareTheCalls() {
    var balancer = LoadBalancer(seed: 2)
    var counts = Array(repeating: 0, count: 5)
    for _ in 0..<10_000 {
      let candidates = counts.map { Candidate(load: $0, tier: .ready) }
      if let index = balancer.choose(candidates) { counts[index] += 1 }
    }
    // Two choices keep the loads within a few calls of each other; one choice would spread them over a hundred.
    #expect((counts.max() ?? 0) - (counts.min() ?? 0) < 20)
    var chosen = Array(repeating: 0, count: 5)
    for _ in 0..<10_000 {
      if let index = balancer.choose(Array(repeating: Candidate(load: 0, tier: .ready), count: 5)) {
        chosen[index] += 1
      }
    }
    #expect(chosen.allSatisfy { (1_700..<2_300).contains($0) })
  }

  @Test func betterTiersComeFirst() {
    var balancer = LoadBalancer(seed: 3)
    let tiers: [LoadBalancer.Tier] = [.excluded, .doubtful, .unconnected, .ready]
    var candidates = tiers.map { Candidate(load: 100, tier: $0) }
    for expected in [3, 2, 1] {
      for _ in 0..<20 { #expect(balancer.choose(candidates) == expected) }
      candidates[expected].tier = .excluded
    }
    #expect(balancer.choose(candidates) == nil)
    #expect(balancer.choose([]) == nil)
  }

  // MARK: outliers

  private func detector(_ count: Int, _ change: (inout OutlierPolicy) -> Void = { _ in }) -> DetectorProbe {
    var policy = OutlierPolicy()
    change(&policy)
    return DetectorProbe(OutlierDetector(policy, addressCount: count))
  }

  @Test func consecutiveFailuresEject() {
    let detector = detector(3)
    for _ in 0..<4 { #expect(!detector.failed(0, nowMs: 0)) }
    detector.succeeded(0, nowMs: 0)
    for _ in 0..<4 { #expect(!detector.failed(0, nowMs: 0)) }
    #expect(!detector.isEjected(0, nowMs: 0))
    #expect(detector.failed(0, nowMs: 0))
    #expect(detector.isEjected(0, nowMs: 4_999))
    #expect(!detector.isEjected(0, nowMs: 5_000))
    #expect(detector.ejectedCount == 0)
  }

  @Test func highFailureRatioEjects() {
    let detector = detector(2)
    // Every other call fails, so there are never five failures in a row.
    for index in 0..<19 {
      if index % 2 == 0 { #expect(!detector.failed(1, nowMs: 100)) } else { detector.succeeded(1, nowMs: 100) }
    }
    detector.succeeded(1, nowMs: 100)
    #expect(detector.failed(1, nowMs: 100))
    #expect(detector.isEjected(1, nowMs: 100))
  }

  @Test func fewCallsOrAnOldWindowDoNotEject() {
    let detector = detector(2) { $0.consecutiveFailuresMax = 1000 }
    for window in 0..<50 {
      for _ in 0..<10 { #expect(!detector.failed(0, nowMs: Int64(window) * 10_000)) }
    }
  }

  @Test func ejectionTimesGrowAndAreReset() {
    let detector = detector(2) { $0.ejectionMsMax = 15_000 }
    var now: Int64 = 0
    func eject() -> Int64 {
      for _ in 0..<5 { detector.failed(0, nowMs: now) }
      var length: Int64 = 0
      while detector.isEjected(0, nowMs: now + length) { length += 1_000 }
      now += length
      return length
    }
    let lengths = [eject(), eject(), eject(), eject()]
    #expect(lengths == [5_000, 10_000, 15_000, 15_000])
    // Windows without failures reset the growth.
    for _ in 0..<6 {
      now += 10_000
      detector.succeeded(0, nowMs: now)
    }
    let last = eject()
    #expect(last == 5_000)
  }

  @Test func onlyAShareOfTheAddressesIsEjected() {
    let detector = detector(5)
    for address in 0..<5 { for _ in 0..<10 { detector.failed(address, nowMs: 0) } }
    let ejected = (0..<5).filter { detector.isEjected($0, nowMs: 1) }
    #expect(ejected == [0, 1])
    let alone = self.detector(1)
    for _ in 0..<100 { #expect(!alone.failed(0, nowMs: 0)) }
    #expect(!alone.isEjected(0, nowMs: 0))
  }

  @Test func openCallsDoNotProlongAnEjection() {
    let detector = detector(2)
    for _ in 0..<5 { detector.failed(0, nowMs: 0) }
    for _ in 0..<50 { #expect(!detector.failed(0, nowMs: 4_000)) }
    #expect(!detector.isEjected(0, nowMs: 5_000))
  }

  // MARK: credit

  @Test func creditFollowsTheReceiverWithinTheWindow() {
    func grant(_ available: (Int, Int), _ outstanding: (Int, Int)) -> StreamCredit? {
      CreditRelay.grant(
        available: StreamCredit(messages: available.0, bytes: available.1),
        outstanding: StreamCredit(messages: outstanding.0, bytes: outstanding.1))
    }
    func credit(_ messages: Int, _ bytes: Int) -> StreamCredit { StreamCredit(messages: messages, bytes: bytes) }
    let (many, mib) = (1_000_000, 1 << 20)
    // The receiver has granted nothing, or nothing new.
    for available in [(0, 0), (-5, -5), (0, mib - 100), (32, mib)] { #expect(grant(available, (32, mib)) == nil) }
    #expect(grant((1, mib), (0, mib)) == credit(1, 0))
    #expect(grant((many, mib), (1, mib)) == credit(CreditRelay.window.messages - 1, 0))
    #expect(grant((many, 100 * mib), (64, mib)) == nil)
    // Small grants are withheld until they justify a frame.
    #expect(grant((many, mib), (49, mib)) == nil)
    #expect(grant((many, mib), (48, mib)) == credit(16, 0))
    #expect(grant((64, many), (64, many - 250_000)) == nil)
    #expect(grant((64, mib), (60, mib - 262_144)) == credit(4, 262_144))
    // A sender that has few bytes gets some, and one that has none gets any.
    #expect(grant((64, 110_000), (64, 100_000)) == nil)
    #expect(grant((64, 117_000), (64, 100_000)) == credit(0, 17_000))
    #expect(grant((64, 1), (64, -100)) == credit(0, 101))
    #expect(grant((64, -100), (64, -200)) == nil)
  }

  @Test func requestIDsDiffer() {
    var ids = RequestIDs(prefix: 0x0123_4567_89ab_cdef)
    var first: [UInt8] = [], second: [UInt8] = []
    ids.appendNext(to: &first)
    ids.appendNext(to: &second)
    #expect(String(decoding: first, as: UTF8.self) == #""campanile-request-id":"0123456789abcdef-0000000000000001""#)
    #expect(String(decoding: second, as: UTF8.self) == #""campanile-request-id":"0123456789abcdef-0000000000000002""#)
  }
}

/// A reference to a detector, because expectations would call its mutating methods on a copy.
private final class DetectorProbe {
  private var detector: OutlierDetector
  init(_ detector: OutlierDetector) { self.detector = detector }
  var ejectedCount: Int { detector.ejectedCount }
  @discardableResult func failed(_ index: Int, nowMs: Int64) -> Bool { detector.failed(index, nowMs: nowMs) }
  func succeeded(_ index: Int, nowMs: Int64) { detector.succeeded(index, nowMs: nowMs) }
  func isEjected(_ index: Int, nowMs: Int64) -> Bool { detector.isEjected(index, nowMs: nowMs) }
}

@Suite struct SecondAttemptBudgetTests {
  @Test func retriesAreLimitedToAShareOfTheCalls() {
    var budget = SecondAttemptBudget(ratio: 0.2, burst: 2)
    let burst = [budget.take(), budget.take(), budget.take()]
    #expect(burst == [true, true, false])
    for _ in 0..<4 { budget.called() }
    let early = budget.take()
    budget.called()
    let due = budget.take(), more = budget.take()
    #expect(!early && due && !more)
    for _ in 0..<1_000 { budget.called() }
    let after = [budget.take(), budget.take(), budget.take()]
    #expect(after == [true, true, false])
    var none = SecondAttemptBudget(ratio: 0, burst: 0)
    none.called()
    let never = none.take()
    #expect(!never)
  }
}
