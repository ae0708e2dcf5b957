import APNs
import Synchronization
import Testing

@testable import APNsSimulator

@Suite struct FaultTests {
  private func actions(_ plan: inout FaultPlan, _ count: Int, _ context: PushContext = goodContext()) -> [String] {
    (0..<count).map { _ in plan.next(context).action?.name ?? "-" }
  }

  @Test func countLimitsAFault() {
    var plan = FaultPlan(seed: 1)
    var rule = FaultRule(.answer(Refusal(.serviceUnavailable, "")))
    rule.remaining = 2
    _ = plan.add(rule)
    #expect(actions(&plan, 4) == ["answer", "answer", "-", "-"])
    #expect(plan.rules.first?.applied == 2)
    plan.removeEnded(nowMs: nowMs)
    #expect(plan.rules.isEmpty)
  }

  @Test func everyThirdRequestIsAffected() {
    var plan = FaultPlan(seed: 1)
    var rule = FaultRule(.goAway)
    rule.every = 3
    _ = plan.add(rule)
    #expect(actions(&plan, 7) == ["-", "-", "goaway", "-", "-", "goaway", "-"])
  }

  @Test func probabilityIsReproducibleFromTheSeed() {
    var rule = FaultRule(.answer(Refusal(.serviceUnavailable, "")))
    rule.probability = 0.2
    let runs = [7, 7, 8].map { seed in
      var plan = FaultPlan(seed: UInt64(seed))
      _ = plan.add(rule)
      return actions(&plan, 1000)
    }
    #expect(runs[0] == runs[1])
    #expect(runs[0] != runs[2])
    #expect((150...250).contains(runs[0].count { $0 == "answer" }))
  }

  @Test func faultEndsAfterItsDuration() {
    var plan = FaultPlan(seed: 1)
    var rule = FaultRule(.stall(isProcessed: false))
    rule.untilMs = nowMs + 10
    _ = plan.add(rule)
    var context = goodContext()
    #expect(actions(&plan, 1, context) == ["stall"])
    context.nowMs = nowMs + 10
    #expect(actions(&plan, 1, context) == ["-"])
  }

  @Test func faultAppliesOnlyToMatchingRequests() {
    var plan = FaultPlan(seed: 1)
    for change in [
      { $0.topic = "other" }, { $0.keyID = "OTHER12345" }, { $0.pathPrefix = "/4/" }, { $0.pushType = "alert" },
    ] as [(inout FaultMatch) -> Void] {
      var rule = FaultRule(.close(isProcessed: true))
      change(&rule.match)
      _ = plan.add(rule)
    }
    #expect(actions(&plan, 2) == ["-", "-"])
    var rule = FaultRule(.reset(isProcessed: true))
    rule.match = FaultMatch(pathPrefix: "/3/device/", topic: liveTopic, pushType: "liveactivity", keyID: "ABCDE12345")
    _ = plan.add(rule)
    #expect(actions(&plan, 1) == ["reset"])
  }

  @Test func delaysAddUpAndTheFirstOtherFaultCounts() {
    var plan = FaultPlan(seed: 1)
    for action in [
      FaultAction.delay(minMs: 5, maxMs: 5), .delay(minMs: 7, maxMs: 7), .goAway, .close(isProcessed: false),
    ] {
      _ = plan.add(FaultRule(action))
    }
    let next = plan.next(goodContext())
    #expect(next.delayMs == 12)
    #expect(next.action == .goAway)
  }

  @Test func unprocessedRequestsAreNotDisplayed() throws {
    for (action, isShown) in [
      (FaultAction.reset(isProcessed: false), false), (.reset(isProcessed: true), true),
      (.close(isProcessed: false), false), (.close(isProcessed: true), true), (.stall(isProcessed: true), true),
      (.stall(isProcessed: false), false), (.answer(Refusal(.shutdown, "")), false), (.goAway, true),
    ] {
      let bench = try Bench()
      _ = bench.simulator.state.withLock { $0.faults.add(FaultRule(action)) }
      _ = try bench.push(bench.update("{}", at: 1))
      #expect((bench.screen()?.updates == 1) == isShown, "\(action)")
    }
  }

  @Test func scriptedResponsesContainTheirMembers() throws {
    let bench = try Bench()
    let refusal = Refusal(.tooManyRequests, "scripted", timestampMs: 5, retryAfterSeconds: 3)
    _ = bench.simulator.state.withLock { $0.faults.add(FaultRule(.answer(refusal))) }
    let answer = try bench.push("{}").answer
    #expect(answer?.status == 429)
    #expect(answer?.refusal?.retryAfterSeconds == 3)
  }
}
