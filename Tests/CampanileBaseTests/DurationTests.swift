import Testing

@testable import CampanileBase

@Suite struct DurationTests {
  @Test func millisecondsAreRoundedUpAndClamped() {
    #expect(Duration.zero.wholeMilliseconds == 0)
    #expect(Duration.nanoseconds(1).wholeMilliseconds == 1)
    #expect(Duration.milliseconds(1_500).wholeMilliseconds == 1_500)
    #expect(Duration.microseconds(1_500_001).wholeMilliseconds == 1_501)
    #expect(Duration.microseconds(-1_500).wholeMilliseconds == -1)
    #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
    #expect(Duration.seconds(Int64.min).wholeMilliseconds == .min)
  }
}
