internal import Histogram

/// What is told of a short stretch of a run: small, so that taking it each second does not hold up the calls.
struct LoadInterval: Sendable {
  /// As `LoadRecord.corrected`, to 1 %.
  private var latency = Histogram<UInt64>.ofLatencies(.two)
  private(set) var calls = 0
  private(set) var errors = 0

  @inline(__always)
  mutating func ended(status: Int, latencyNs: UInt64) {
    latency.record(latencyNs)
    calls += 1
    if status != 0 { errors += 1 }
  }

  mutating func add(_ other: LoadInterval) {
    latency.add(other.latency)
    calls += other.calls
    errors += other.errors
  }

  /// The median and the 99th percentile; 0 of no calls.
  func percentilesNs() -> (p50: UInt64, p99: UInt64) {
    var p50: UInt64?
    var count: UInt64 = 0
    // In one look at what there is: the library's own looks at every bucket for each, by code that is not specialised.
    for value in latency.recordedValues() {
      count += value.count
      if p50 == nil, 2 * count >= latency.totalCount { p50 = value.value }
      if 100 * count >= 99 * latency.totalCount { return (p50 ?? value.value, value.value) }
    }
    return (0, 0)
  }
}
