import CampanileBase
import CampanileRPC
import CoreMetrics
import Synchronization

/// A counter of whole numbers.
final class CounterSeries: CounterHandler {
  private let value = Atomic<Int64>(0)

  var current: Int64 { value.load(ordering: .relaxed) }

  func increment(by amount: Int64) {
    // A counter never decreases. It wraps instead of trapping, so that a caller's mistake does not end the process.
    guard amount > 0 else { return }
    value.wrappingAdd(amount, ordering: .relaxed)
  }

  func reset() {
    value.store(0, ordering: .relaxed)
  }
}

/// A floating-point counter, stored as the bits of a double in an atomic word.
final class FloatingPointCounterSeries: FloatingPointCounterHandler {
  private let bits = Atomic<UInt64>(0)

  var current: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func increment(by amount: Double) {
    guard amount > 0, amount.isFinite else { return }
    bits.add(amount)
  }

  func reset() {
    bits.store(0, ordering: .relaxed)
  }
}

/// A gauge: a non-aggregating recorder or a meter.
final class GaugeSeries: RecorderHandler, MeterHandler {
  private let bits = Atomic<UInt64>(0)

  var current: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func set(_ value: Int64) { set(Double(value)) }

  func set(_ value: Double) {
    bits.store(value.bitPattern, ordering: .relaxed)
  }

  func increment(by amount: Double) { bits.add(amount) }
  func decrement(by amount: Double) { bits.add(-amount) }
}

/// A histogram: a timer in seconds, or an aggregating recorder in its own unit.
///
/// An observation is two atomic additions. A scrape between them has a sum without it; the next scrape is complete.
final class HistogramSeries: TimerHandler, RecorderHandler {
  struct Snapshot: Sendable, Hashable {
    /// Observations up to each bound, then all.
    var cumulated: [Int]
    var sum: Double
  }

  /// Beyond it, values are counted as this value.
  private static let valueMax = 1e12

  /// Upper bounds of the exported buckets, in ascending order.
  let bounds: [Double]
  /// The buckets' unit: 1,000,000 in a second for timers, 1 for recorders.
  private let perUnit: Double
  private let own: LogLinearHistogram
  private let others = Mutex<[LogLinearHistogram]>([])

  init(_ buckets: LogLinearBuckets, perUnit: Double) {
    bounds = buckets.bounds.map { Double($0) / perUnit }
    self.perUnit = perUnit
    own = LogLinearHistogram(buckets)
  }

  var snapshot: Snapshot {
    var counts = [Int](repeating: 0, count: bounds.count + 1)
    var sum = 0
    for reading in [own.reading] + others.withLock({ $0 }).map(\.reading) {
      for (index, count) in reading.cumulated.enumerated() { counts[index] &+= count }
      sum &+= reading.sum
    }
    return Snapshot(cumulated: counts, sum: Double(sum) / (1_000 * perUnit))
  }

  /// Includes a histogram with the same buckets that is recorded elsewhere. Has no effect if it is included already.
  func include(_ other: LogLinearHistogram) {
    others.withLock { others in
      if !others.contains(where: { $0 === other }) { others.append(other) }
    }
  }

  func recordNanoseconds(_ durationNs: Int64) { own.add(durationNs, on: .shared) }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    guard !value.isNaN else { return }
    let limited = min(max(value * perUnit, -Self.valueMax), Self.valueMax)
    own.add(Int64((limited * 1_000).rounded(.up)), on: .shared)
  }
}

/// A handle without effect, for a name with a conflicting kind or beyond the limits.
final class DiscardedSeries: CounterHandler, FloatingPointCounterHandler, RecorderHandler, MeterHandler, TimerHandler {
  func increment(by: Int64) {}
  func increment(by: Double) {}
  func decrement(by: Double) {}
  func set(_ value: Int64) {}
  func set(_ value: Double) {}
  func record(_ value: Int64) {}
  func record(_ value: Double) {}
  func recordNanoseconds(_ duration: Int64) {}
  func reset() {}
}

extension Atomic where Value == UInt64 {
  /// Adds to the double whose bits this word contains.
  fileprivate borrowing func add(_ amount: Double) {
    var seen = load(ordering: .relaxed)
    while true {
      let wanted = (Double(bitPattern: seen) + amount).bitPattern
      let (exchanged, original) = weakCompareExchange(expected: seen, desired: wanted, ordering: .relaxed)
      if exchanged { return }
      seen = original
    }
  }
}
