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

/// A histogram with fixed buckets: a timer in seconds, or an aggregating recorder in its own unit.
///
/// An observation is two atomic additions. A scrape between them has a sum without it; the next scrape is complete.
final class HistogramSeries: TimerHandler, RecorderHandler {
  struct Snapshot: Sendable, Hashable {
    /// Observations by bucket, not cumulative. The last bucket is above every bound.
    var counts: [UInt64]
    var sum: Double
  }

  /// Maximum number of bounds. The registry's lists are shorter.
  static let boundsMax = 23

  let bounds: [Double]
  /// Bounds in nanoseconds, for timers.
  private let boundsNs: [Int64]
  private let counts = InlineArray<24, Atomic<UInt64>>({ _ in Atomic(0) })
  /// Sum of the observations in nanoseconds. Integers need only one atomic addition.
  private let sumNs = Atomic<Int64>(0)
  /// Sum of all other observations, as the bits of a double.
  private let sumBits = Atomic<UInt64>(0)
  private let others = Mutex<[@Sendable () -> Snapshot]>([])

  /// Creates an empty histogram.
  ///
  /// - Parameter bounds: Upper bounds of the buckets in ascending order, at most `boundsMax`.
  init(bounds: [Double]) {
    precondition(bounds.count <= Self.boundsMax, "a histogram has at most \(Self.boundsMax) bounds")
    self.bounds = bounds
    boundsNs = bounds.map { Int64($0 * 1e9) }
  }

  var snapshot: Snapshot {
    var total = Snapshot(
      counts: (0...bounds.count).map { counts[$0].load(ordering: .relaxed) },
      sum: Double(sumNs.load(ordering: .relaxed)) / 1e9 + Double(bitPattern: sumBits.load(ordering: .relaxed)))
    for read in others.withLock({ $0 }) {
      let other = read()
      for (index, count) in other.counts.prefix(total.counts.count).enumerated() { total.counts[index] &+= count }
      total.sum += other.sum
    }
    return total
  }

  /// Adds observations that are counted elsewhere with the same bounds.
  func add(_ read: @escaping @Sendable () -> Snapshot) { others.withLock { $0.append(read) } }

  /// Returns the index of the bucket for a duration.
  @inline(__always)
  static func bucket(of durationNs: Int64, boundsNs: [Int64]) -> Int {
    var bucket = 0
    while bucket < boundsNs.count, durationNs > boundsNs[bucket] { bucket += 1 }
    return bucket
  }

  func recordNanoseconds(_ durationNs: Int64) {
    let bucket = Self.bucket(of: durationNs, boundsNs: boundsNs)
    counts[bucket].wrappingAdd(1, ordering: .relaxed)
    sumNs.wrappingAdd(durationNs, ordering: .relaxed)
  }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    guard !value.isNaN else { return }
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    counts[bucket].wrappingAdd(1, ordering: .relaxed)
    sumBits.add(value)
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
