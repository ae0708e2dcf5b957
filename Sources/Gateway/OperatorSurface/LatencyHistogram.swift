import CampanileRPC

/// A latency histogram whose buckets are an eighth of their power of two wide. Thread-safe.
///
/// The resolution is 1 µs below 8 µs, and 12 % above. Latencies of 67 s and more count as 67 s.
final class LatencyHistogram: Sendable {
  static let bucketCount = 192
  private let counts = ShardedCounters(slotCount: bucketCount)

  func add(ns: Int64, on shard: CounterShard) { counts.add(1, at: Self.bucket(us: max(0, ns) / 1000), on: shard) }

  static func bucket(us: Int64) -> Int {
    guard us >= 8 else { return Int(us) }
    let power = min(63 - us.leadingZeroBitCount, 25)
    guard us < 1 << 26 else { return bucketCount - 1 }
    return 8 + (power - 3) * 8 + Int(us >> Int64(power - 3) & 7)
  }

  /// Returns the bounds of a bucket: from `lowerUs` up to, but not including, `upperUs`.
  static func bounds(_ bucket: Int) -> (lowerUs: Int64, upperUs: Int64) {
    guard bucket >= 8 else { return (Int64(bucket), Int64(bucket) + 1) }
    let shift = Int64((bucket - 8) / 8)
    let lowerUs = Int64(8 + (bucket - 8) % 8) << shift
    return (lowerUs, lowerUs + 1 << shift)
  }

  /// `[lowerUs, upperUs, count]` of each non-empty bucket.
  var filled: [[Int64]] {
    (0..<Self.bucketCount).compactMap { bucket in
      let count = counts.total(bucket)
      guard count > 0 else { return nil }
      let (lowerUs, upperUs) = Self.bounds(bucket)
      return [lowerUs, upperUs, Int64(count)]
    }
  }
}
