import CampanileBase
import Testing

@Suite struct LogLinearBucketsTests {
  @Test(arguments: [[], [100, 250, 500, 1_000, 10_000_000], [1, 4, 16, 1 << 25]] as [[Int64]])
  func bucketsHaveNoGaps(bounds: [Int64]) {
    let buckets = LogLinearBuckets(precisionBits: 3, powerMax: 26, bounds: bounds)
    var upper: Int64 = 0
    for bucket in 0..<buckets.count {
      let range = buckets.range(of: bucket)
      #expect(range.lower == upper && range.upper > range.lower)
      #expect(buckets.bucket(of: range.lower) == bucket && buckets.bucket(of: range.upper - 1) == bucket)
      #expect(range.upper - range.lower <= max(1, range.lower / 8))
      #expect(!bounds.contains { $0 > range.lower && $0 < range.upper })
      upper = range.upper
    }
    #expect(upper == 1 << 26)
    for value in [upper, .max - 1, .max] { #expect(buckets.bucket(of: value) == buckets.count - 1) }
    #expect(buckets.bucket(of: -1) == 0 && buckets.bucket(of: .min) == 0)
  }

  @Test func onlyBoundsWithinBucketsDivideThem() {
    #expect(LogLinearBuckets(precisionBits: 3, powerMax: 26).count == 192)
    #expect(LogLinearBuckets(precisionBits: 3, powerMax: 26, bounds: [4, 16, 96]).count == 192)
    #expect(LogLinearBuckets(precisionBits: 3, powerMax: 26, bounds: [4, 100]).count == 193)
  }

  @Test func countsBelowBoundsAreExact() {
    let buckets = LogLinearBuckets(precisionBits: 2, powerMax: 63, bounds: [10, 100])
    var counts = [Int](repeating: 0, count: buckets.count)
    for value: Int64 in [0, 9, 10, 99, 100, 101, .max] { counts[buckets.bucket(of: value)] += 1 }
    #expect(buckets.cumulated(counts) == [2, 4, 7])
    #expect(LogLinearBuckets(precisionBits: 2, powerMax: 4).cumulated([1, 2]) == [3])
  }
}
