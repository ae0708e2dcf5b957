import CampanileBase
import Testing

@Suite struct CircuitBreakerTests {
  private var breaker = CircuitBreaker(
    BreakerPolicy(
      failuresMax: 3,
      pause: Backoff(initialDelay: .milliseconds(100), multiplier: 2, jitter: 0, delayMax: .milliseconds(250))))

  @Test mutating func breakerOpensProbesAndCloses() {
    for _ in 0..<2 { breaker.failed(nowMs: 0) }
    breaker.succeeded()
    for _ in 0..<2 { breaker.failed(nowMs: 0) }
    let before = breaker.admit(nowMs: 0)
    breaker.failed(nowMs: 0)
    let opened = breaker.admit(nowMs: 10)
    #expect(before == nil && opened == 90)
    // Failures of earlier calls do not prolong it.
    breaker.failed(nowMs: 50)
    let trial = breaker.admit(nowMs: 100), others = breaker.admit(nowMs: 100)
    #expect(trial == nil && others != nil && breaker.state == .halfOpen(untilMs: 350))
    breaker.failed(nowMs: 110)
    #expect(breaker.state == .open(untilMs: 310))
    _ = breaker.admit(nowMs: 310)
    breaker.failed(nowMs: 310)
    #expect(breaker.state == .open(untilMs: 560))
    _ = breaker.admit(nowMs: 560)
    breaker.probeAbandoned(nowMs: 570)
    let again = breaker.admit(nowMs: 570)
    #expect(again == nil)
    breaker.succeeded()
    #expect(breaker.isClosed)
    for _ in 0..<3 { breaker.failed(nowMs: 600) }
    #expect(breaker.state == .open(untilMs: 700))
  }

  @Test func breakerAdmitsSeveralProbes() {
    let policy = BreakerPolicy(
      failuresMax: 5, probesMax: 4,
      pause: Backoff(initialDelay: .milliseconds(500), multiplier: 2, jitter: 0, delayMax: .seconds(30)))
    var breaker = CircuitBreaker(policy)
    for _ in 0..<4 { breaker.failed(nowMs: 0, random: 0) }
    #expect(breaker.allowance(nowMs: 0) == nil)
    breaker.succeeded()
    for _ in 0..<5 { breaker.failed(nowMs: 10, random: 0) }
    #expect(breaker.allowance(nowMs: 10) == 0)
    #expect(breaker.retryAtMs == 510)
    // Late failures of earlier calls do not extend the pause.
    breaker.failed(nowMs: 400, random: 0)
    #expect(breaker.allowance(nowMs: 510) == policy.probesMax)
    breaker.failed(nowMs: 600, random: 0)
    #expect(breaker.retryAtMs == 1_600)
    #expect(breaker.allowance(nowMs: 1_600) == policy.probesMax)
    breaker.succeeded()
    #expect(breaker.allowance(nowMs: 1_600) == nil)
    breaker.broken(nowMs: 2_000, random: 0)
    #expect(breaker.retryAtMs == 2_500)
    for round in 0..<40 {
      let atMs = breaker.retryAtMs ?? 0
      _ = breaker.allowance(nowMs: atMs)
      breaker.failed(nowMs: atMs, random: 1)
      #expect((breaker.retryAtMs ?? 0) - atMs <= policy.pause.delayMax.wholeMilliseconds, "round \(round)")
    }
  }
}
