package import CampanileBase

/// A histogram with log-linear buckets, sharded by event loop. Safe to use from any thread.
///
/// Values have a resolution of a thousandth of the buckets' unit, such as nanoseconds in buckets of microseconds. A
/// bucket contains its upper bound but not its lower one, as Prometheus requires.
package final class LogLinearHistogram: Sendable {
  /// Counts and sum at one time.
  package struct Reading: Sendable {
    package let buckets: LogLinearBuckets
    /// By bucket.
    package let counts: [Int]
    /// In thousandths of the buckets' unit.
    package let sum: Int

    /// The counts up to each of the buckets' bounds, then the count of all values.
    package var cumulated: [Int] { buckets.cumulated(counts) }

    /// `[lower, upper, count]` of each non-empty bucket.
    package var filled: [[Int64]] {
      counts.indices.compactMap { bucket in
        guard counts[bucket] > 0 else { return nil }
        let (lower, upper) = buckets.range(of: bucket)
        return [lower, upper, Int64(counts[bucket])]
      }
    }
  }

  private let buckets: LogLinearBuckets
  /// The counts by bucket, then the sum.
  private let counters: ShardedCounters
  private let sumSlot: Int

  package init(_ buckets: LogLinearBuckets) {
    self.buckets = buckets
    sumSlot = buckets.count
    counters = ShardedCounters(slotCount: sumSlot + 1)
  }

  /// - Parameter thousandths: The value in thousandths of the buckets' unit. Below 1, the first bucket counts it.
  package func add(_ thousandths: Int64, on shard: CounterShard) {
    let bucket = buckets.bucket(of: (max(1, thousandths) &- 1) / 1_000)
    counters.count(at: bucket, adding: Int(thousandths), at: sumSlot, on: shard)
  }

  package var reading: Reading {
    let totals = counters.totals
    return Reading(buckets: buckets, counts: Array(totals.dropLast()), sum: totals[sumSlot])
  }
}
