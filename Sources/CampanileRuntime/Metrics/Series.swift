import CoreMetrics
import Synchronization

/// A counter of whole numbers.
final class CounterSeries: CounterHandler {
  private let value = Atomic<Int64>(0)

  var current: Int64 { value.load(ordering: .relaxed) }

  func increment(by amount: Int64) {
    // A counter never goes down, and wrapping instead of trapping keeps a caller's mistake from ending the process.
    guard amount > 0 else { return }
    value.wrappingAdd(amount, ordering: .relaxed)
  }

  func reset() {
    value.store(0, ordering: .relaxed)
  }
}

/// A counter of fractions: a double kept in an atomic word.
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

/// A gauge: a recorder that does not aggregate, or a meter.
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

/// A histogram with fixed buckets: a timer (in seconds) or an aggregating recorder (in its own unit).
///
/// An observation is two atomic additions. A scrape between them sees one that its sum lacks, and the next scrape has both.
final class HistogramSeries: TimerHandler, RecorderHandler {
  struct Snapshot: Sendable, Hashable {
    /// Observations by bucket, not cumulated; the last one is above every bound.
    var counts: [UInt64]
    var sum: Double
  }

  /// A registry's own lists have fewer.
  static let boundsMax = 23

  let bounds: [Double]
  /// Bounds in nanoseconds, for timers.
  private let boundsNs: [Int64]
  private let counts = InlineArray<24, Atomic<UInt64>>({ _ in Atomic(0) })
  /// Of what came in nanoseconds: whole numbers are added in one go.
  private let sumNs = Atomic<Int64>(0)
  /// The bits of the sum of everything else.
  private let sumBits = Atomic<UInt64>(0)
  private let others = Mutex<[@Sendable () -> Snapshot]>([])

  /// - Parameter bounds: at most `boundsMax`, ascending.
  init(bounds: [Double]) {
    precondition(bounds.count <= Self.boundsMax, "a histogram has at most \(Self.boundsMax) bounds")
    self.bounds = bounds
    boundsNs = bounds.map { Int64($0 * 1e9) }
  }

  var snapshot: Snapshot {
    var told = Snapshot(
      counts: (0...bounds.count).map { counts[$0].load(ordering: .relaxed) },
      sum: Double(sumNs.load(ordering: .relaxed)) / 1e9 + Double(bitPattern: sumBits.load(ordering: .relaxed)))
    for read in others.withLock({ $0 }) {
      let other = read()
      for (index, count) in other.counts.prefix(told.counts.count).enumerated() { told.counts[index] &+= count }
      told.sum += other.sum
    }
    return told
  }

  /// Tells what somebody else has observed by the same bounds, too.
  func add(_ read: @escaping @Sendable () -> Snapshot) { others.withLock { $0.append(read) } }

  /// In which bucket of a timer a duration counts.
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

/// What a name with a conflicting kind, or beyond the limits, is given: it keeps the caller going and records nothing.
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
  /// Adds to the double whose bits this word holds.
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
