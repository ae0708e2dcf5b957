import CampanileRPC

/// How long calls took, counted in buckets that are an eighth of their power of two wide. Safe from any thread.
///
/// Less than 8 µs is told to the microsecond, everything else to 12 %; what takes longer than 67 s counts as that.
final class LatencyHistogram: Sendable {
  static let bucketCount = 192
  private let counts = LoopCounts(slotCount: bucketCount)

  func add(ns: Int64, on lane: LoopLane) { counts.add(1, at: Self.bucket(us: max(0, ns) / 1000), on: lane) }

  static func bucket(us: Int64) -> Int {
    guard us >= 8 else { return Int(us) }
    let power = min(63 - us.leadingZeroBitCount, 25)
    guard us < 1 << 26 else { return bucketCount - 1 }
    return 8 + (power - 3) * 8 + Int(us >> Int64(power - 3) & 7)
  }

  /// What a bucket holds: from `lowerUs`, less than `upperUs`.
  static func bounds(_ bucket: Int) -> (lowerUs: Int64, upperUs: Int64) {
    guard bucket >= 8 else { return (Int64(bucket), Int64(bucket) + 1) }
    let shift = Int64((bucket - 8) / 8)
    let lowerUs = Int64(8 + (bucket - 8) % 8) << shift
    return (lowerUs, lowerUs + 1 << shift)
  }

  /// `[lowerUs, upperUs, count]` of the buckets that hold any.
  var filled: [[Int64]] {
    (0..<Self.bucketCount).compactMap { bucket in
      let count = counts.total(bucket)
      guard count > 0 else { return nil }
      let (lowerUs, upperUs) = Self.bounds(bucket)
      return [lowerUs, upperUs, Int64(count)]
    }
  }
}
