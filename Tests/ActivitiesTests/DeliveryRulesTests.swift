import APNs
import CampanileBase
import CampanileRPC
import CampanileStore
import Testing

@testable import Activities

/// The pure rules of delivery: retries ("Handling notification responses from APNs") and the budget of priority 10
/// ("Starting and updating Live Activities with ActivityKit push notifications").
@Suite struct DeliveryRulesTests {
  private func decide(
    _ outcome: PushOutcome, attempts: Int = 0, isRenewed: Bool = false
  ) -> RetryRules.Decision {
    var backoff = Backoff()
    backoff.jitter = 0
    return RetryRules.decide(
      outcome, attempts: attempts, isRenewed: isRenewed, attemptsMax: 5, backoff: backoff, random: 0.5)
  }

  private func decide(_ reason: APNsReason, attempts: Int = 0, isRenewed: Bool = false) -> RetryRules.Decision {
    decide(
      .answered(PushAnswer(status: reason.status, reason: reason.text)), attempts: attempts, isRenewed: isRenewed)
  }

  @Test func everyReasonHasADecision() {
    let retire: [APNsReason] = [.badDeviceToken, .unregistered, .expiredToken]
    let retry: [APNsReason] = [.tooManyRequests, .internalServerError, .serviceUnavailable, .shutdown]
    for reason in APNsReason.all {
      if retire.contains(reason) {
        #expect(decide(reason) == .retireToken(reason, rejectedAtMs: nil))
      } else if retry.contains(reason) {
        #expect(decide(reason) == .retry(afterMs: 1_000, reason: reason.text))
        #expect(decide(reason, attempts: 1) == .retry(afterMs: 1_600, reason: reason.text))
        #expect(decide(reason, attempts: 4) == .giveUp(reason))
      } else if reason == .expiredProviderToken {
        #expect(decide(reason) == .renewToken)
        #expect(decide(reason, isRenewed: true) == .giveUp(reason))
      } else {
        #expect(decide(reason) == .giveUp(reason), "\(reason)")
      }
    }
    #expect(decide(.answered(PushAnswer(status: 200))) == .accepted)
  }

  @Test func unusualResponsesHaveADecision() {
    #expect(decide(.answered(PushAnswer(status: 502))) == .retry(afterMs: 1_000, reason: "Status502"))
    #expect(decide(.answered(PushAnswer(status: 418))) == .giveUp(APNsReason(text: "Status418", status: 418)))
    #expect(decide(.answered(PushAnswer(status: 204))) == .giveUp(APNsReason(text: "Status204", status: 204)))
    let later = PushAnswer(status: 429, reason: "TooManyRequests", retryAfterMs: 30_000)
    #expect(decide(.answered(later)) == .retry(afterMs: 30_000, reason: "TooManyRequests"))
    let muchLater = PushAnswer(status: 503, retryAfterMs: 86_400_000)
    #expect(decide(.answered(muchLater)) == .retry(afterMs: RetryRules.retryAfterMsMax, reason: "Status503"))
    #expect(decide(.unprocessed("x")) == .putBack(reason: "x"))
    #expect(decide(.lost("x")) == .retry(afterMs: 1_000, reason: "x"))
    #expect(decide(.lost("x"), attempts: 4) == .giveUp(APNsReason(text: "ConnectionLost", status: 0)))
  }

  @Test func onlyKeyReasonsBlameTheKey() {
    for reason in APNsReason.all where reason.status == 403 {
      let isOfKey = ![APNsReason.expiredProviderToken, .forbidden].contains(reason)
      #expect(RetryRules.blamesKey(PushAnswer(status: 403, reason: reason.text)) == isOfKey, "\(reason)")
    }
    #expect(!RetryRules.blamesKey(PushAnswer(status: 400, reason: "InvalidProviderToken")))
  }

  /// A transcript of a budget: minute, kind, priority.
  @Test func budgetFollowsTheTranscript() {
    let limits = PriorityBudget.Limits()
    var budget = PriorityBudget(nowMs: 0, limits: limits)
    var transcript: [(minute: Int64, kind: PushKind, priority: PushPriority)] = []
    transcript += (0..<8).map { _ in (0, .update, .high) }
    // Two pushes are reserved for the start and the end.
    transcript += [(0, .update, .low), (0, .end, .high), (0, .end, .high), (0, .end, .high), (1, .update, .low)]
    transcript += [(0, .alert, .high), (0, .background, .low)]
    // The level was 0 at minute 0, so the third unit is available 18 minutes later.
    transcript += [(17, .update, .low), (18, .update, .high), (18, .update, .low), (24, .update, .high)]
    // A clock that is set back refills nothing, nor does its return.
    transcript += [(3, .update, .low), (4, .update, .low), (600, .update, .high)]
    for (index, step) in transcript.enumerated() {
      let priority = budget.priority(of: step.kind, nowMs: step.minute * 60_000, limits: limits)
      #expect(priority == step.priority, "step \(index): \(step)")
    }
  }

  @Test func endpointsAreParsedOrRejected() throws {
    var endpoints = APNsEndpoints()
    #expect(endpoints.push["development"] == .sandbox)
    #expect(endpoints.push["sandbox"] == .production)
    try endpoints.set("sandbox=127.0.0.1:7490")
    try endpoints.set("staging=[::1]:443")
    #expect(endpoints.push["sandbox"] == APNsHost(name: "127.0.0.1", port: 7490))
    #expect(endpoints.channels["staging"] == APNsHost(name: "::1", port: 443))
    for text in [
      "", "a", "a=b", "a=b:", "a=:1", "=b:1", "a=b:0", "a=b:65536", "A=b:1", "a=b c:1", "a=b/c:1", "a=b:1:x",
    ] {
      #expect(throws: RPCError.self, "\(text)") { try endpoints.set(text) }
    }
    for index in 0..<APNsEndpoints.countMax { try? endpoints.set("e\(index)=h:1") }
    #expect(endpoints.push.count == APNsEndpoints.countMax)
  }
}
