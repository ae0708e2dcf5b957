import CampanileCodec
import CampanileService
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct ActionRetryPolicyTests {
  private func next(_ result: HTTPActionResult, _ attempt: Int, random: UInt64 = 0) -> Int64? {
    ActionRetryPolicy.nextAttemptMs(after: result, attemptCount: attempt, nowMs: 1_000_000, random: random).map {
      $0 - 1_000_000
    }
  }

  @Test func sixAttemptsOverAboutAnHour() {
    let failed = HTTPActionResult.failure(.timeout, "")
    let delays = [30_000, 90_000, 270_000, 810_000, 2_430_000] as [Int64]
    for (index, delay) in delays.enumerated() {
      #expect(next(failed, index + 1) == delay - delay / 5)
      #expect(next(failed, index + 1, random: UInt64(delay / 5)) == delay)
      #expect(next(failed, index + 1, random: UInt64(delay / 5 * 2)) == delay + delay / 5)
      for _ in 0..<100 {
        let some = next(failed, index + 1, random: .random(in: .min ... .max)) ?? 0
        #expect((delay - delay / 5...delay + delay / 5).contains(some))
      }
    }
    #expect(next(failed, 6) == nil && next(failed, 7) == nil && next(failed, 0) == nil && next(failed, -1) == nil)
    #expect(delays.reduce(0, +) == 3_630_000)
  }

  @Test(arguments: [
    (200, nil, false), (204, nil, false), (301, "HTTP_3XX", false), (400, "HTTP_4XX", false), (404, "HTTP_4XX", false),
    (408, "HTTP_4XX", true), (425, "HTTP_4XX", true), (429, "HTTP_4XX", true), (500, "HTTP_5XX", true),
    (501, "HTTP_5XX", false), (502, "HTTP_5XX", true), (503, "HTTP_5XX", true), (505, "HTTP_5XX", false),
    (150, "HTTP_1XX", false), (999, "HTTP_5XX", false),
  ])
  func statusesAreClassified(_ status: Int, _ reason: String?, _ isRetryable: Bool) {
    let result = HTTPActionResult.response(status: status, retryAfter: nil, nowMs: 0)
    #expect(result.status == status && result.reason?.rawValue == reason && result.isRetryable == isRetryable)
    #expect((next(result, 1) != nil) == isRetryable && result.isSuccess == (reason == nil))
  }

  @Test func finalFailuresAreNotRetried() {
    let retried: [HTTPActionResult.Reason] = [
      .timeout, .connectFailed, .connectionClosed, .requestFailed, .senderBusy,
    ]
    let final: [HTTPActionResult.Reason] = [
      .addressRefused, .urlInvalid, .headerInvalid, .tlsFailed, .tooManyRedirects, .redirectRefused, .responseInvalid,
    ]
    #expect(retried.allSatisfy { next(.failure($0, ""), 1) != nil })
    #expect(final.allSatisfy { next(.failure($0, ""), 1) == nil })
  }

  @Test func retryAfterIsHonouredWithinBounds() {
    func result(_ retryAfter: String?) -> HTTPActionResult {
      .response(status: 503, retryAfter: retryAfter, nowMs: 1_000_000)
    }
    #expect(next(result("120"), 1) == 120_000)
    #expect(next(result("1"), 1) == 24_000)
    #expect(next(result("3600"), 1) == 3_600_000)
    #expect(next(result("3601"), 1) == nil)
    #expect(next(result("nonsense"), 1) == 24_000)
    #expect(HTTPActionResult.response(status: 404, retryAfter: "5", nowMs: 0).retryAfterMs == nil)
  }

  @Test(arguments: [
    ("0", 0), ("007", 7_000), ("Thu, 01 Jan 1970 00:20:00 GMT", 1_000_000), ("Thu, 01 Jan 1970 00:00:10 GMT", 0),
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000 - 200_000),
    ("Tue, 29 Feb 2028 00:00:00 GMT", 1_835_395_200_000 - 200_000),
    ("", nil), ("-5", nil), ("1.5", nil), ("12345678901", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
    ("Sun, 6 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Xxx 1994 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
  ])
  func retryAfterIsParsed(_ text: String, _ expected: Int64?) {
    #expect(RetryAfter.delayMs(text, nowMs: 200_000) == expected)
  }
}
