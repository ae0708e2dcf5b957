internal import Histogram

/// The measurements of a short interval of a run. It is small, so that reading it every second does not delay calls.
struct LoadInterval: Sendable {
  /// Latencies as in `LoadRecord.corrected`, with a precision of 1 %.
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

  func percentileNs(_ percentile: Double) -> UInt64 { latency.valueAtPercentile(percentile) }
}
