import Synchronization
import Testing

@testable import Activities

@Suite struct DeliveryIDTests {
  @Test func idsAreCanonicalAndAscend() throws {
    let clock = Mutex<Int64>(1_700_000_000_000)
    let ids = PushIDGenerator(nowMs: { clock.withLock { $0 } }, random: { UInt64.random(in: .min ... .max) })
    var last = ""
    for index in 0..<20_000 {
      clock.withLock { $0 += index % 3 == 0 ? -5 : 2 }
      let id = ids.next()
      #expect(id > last)
      last = id
    }
    #expect(last.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
  }

  @Test func idsExceedOneFromAFasterClock() throws {
    let ids = PushIDGenerator(nowMs: { 1_000 }, random: { .max })
    let ahead = PushIDGenerator(nowMs: { 5_000_000 }, random: { .max }).next()
    #expect(PushIDGenerator.timeMs(ahead) == 5_000_000)
    #expect(ids.next() < ahead)
    let first = ids.next(after: ahead)
    #expect(first > ahead)
    #expect(ids.next(after: ahead) > first)
    #expect(ids.next(after: nil) > first)
    #expect(PushIDGenerator.timeMs("x") == nil)
    #expect(PushIDGenerator.lowerBound(timeMs: 5_000_000) <= ahead)
    #expect(PushIDGenerator.lowerBound(timeMs: 5_000_001) > ahead)
  }

  @Test func latencyBucketsAreAccurateToAnEighth() {
    for value in Array(0..<5_000) + [10_000, 123_456, 86_400_000, Int(Int64.max / 4)] {
      let bucket = PushLatencyHistogram.bucket(Int64(value))
      let middle = PushLatencyHistogram.valueMs(bucket: bucket)
      #expect(abs(Double(middle) - Double(value)) <= max(0.5, Double(value) / 8), "\(value) \(bucket) \(middle)")
    }
    // The table contains these numbers.
    for (ms, bucket): (Int64, Int) in [(-1, 0), (3, 3), (4, 4), (8, 8), (10, 9), (1_000, 35), (.max, 247)] {
      #expect(PushLatencyHistogram.bucket(ms) == bucket)
    }
    #expect(PushLatencyHistogram.percentileMs(0.5, of: [:]) == 0)
    #expect(PushLatencyHistogram.percentileMs(0.5, of: [1: 1, 3: 9]) == 3)
    #expect(PushLatencyHistogram.percentileMs(0.99, of: [1: 99, 3: 1]) == 1)
    #expect(PushLatencyHistogram.percentileMs(1, of: [1: 99, 3: 1]) == 3)
  }
}
