import CampanileBase
internal import CampanileRPC
internal import Foundation
internal import Histogram

/// Creates a report from the measurements.
struct ReportBuilder {
  var plan: LoadPlan
  var target: LoadTarget
  var startTime: Date
  private var total = LoadRecord()
  /// Calls since the start of the measurement.
  private(set) var calls = 0
  private(set) var errors = 0
  var seconds: [LoadReport.Second] = []
  var measuredS = 0.0
  var clientCPUShare = 0.0
  var wasInterrupted = false

  /// Share above which the load test itself may be the bottleneck.
  static let clientCPUShareMax = 0.9
  /// Share of late calls above which there is a warning.
  static let lateShareMax = 0.05

  init(plan: LoadPlan, target: LoadTarget, startTime: Date) {
    self.plan = plan
    self.target = target
    self.startTime = startTime
  }

  /// Adds the measurements of an interval. `startS` and `endS` count from the start of the measurement.
  mutating func add(_ interval: LoadInterval, startS: Double, endS: Double) {
    calls += interval.calls
    errors += interval.errors
    guard endS > startS else { return }
    seconds.append(
      LoadReport.Second(
        startMs: startS * 1000, callsPerSecond: Double(interval.calls) / (endS - startS), errors: interval.errors,
        p50Ms: Self.fine(interval.percentileNs(50)), p99Ms: Self.fine(interval.percentileNs(99))))
  }

  /// Adds all measurements of an event loop, including calls in flight at the end of the measurement.
  mutating func add(_ record: LoadRecord) { total.add(record) }

  func report() -> LoadReport {
    let isOpenLoop = if case .open = plan.pace { true } else { false }
    var statuses: [String: LoadReport.Failure] = [:]
    for (number, calls) in total.statuses.enumerated() where calls > 0 {
      let name = number == 0 ? "OK" : RPCError.Code(rawValue: number)?.name ?? "UNKNOWN"
      statuses[name] = .init(calls: calls, message: total.messages[number])
    }
    return LoadReport(
      target: target.description, method: target.method,
      startTime: startTime.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)), pace: pace,
      concurrency: plan.concurrency, connections: plan.connections, threads: plan.threads, seed: plan.seed,
      durationMs: measuredS * 1000, calls: total.calls, errors: total.errors,
      callsPerSecond: measuredS > 0 ? Double(total.inTime) / measuredS : 0, statuses: statuses,
      latency: Self.latency(total.corrected),
      uncorrectedLatency: isOpenLoop ? Self.latency(total.uncorrected) : nil, lateCount: total.late,
      droppedCount: total.dropped, unfinishedCount: total.unfinished, messagesSent: total.messagesSent,
      messagesReceived: total.messagesReceived, clientCPUShare: clientCPUShare,
      wasInterrupted: wasInterrupted, warnings: warnings, seconds: seconds, buckets: buckets, curve: curve)
  }

  private var pace: String {
    switch plan.pace {
    case .closed: "closed loop, \(plan.concurrency) in flight"
    case .open(let rate, let spacing): "open loop, \(rate), \(spacing.rawValue) arrivals"
    }
  }

  private var warnings: [String] {
    var warnings: [String] = []
    if clientCPUShare > Self.clientCPUShareMax {
      warnings.append(
        "the load test used \(Int(clientCPUShare * 100)) % of its \(plan.threads) threads and may be the bottleneck; use more --threads and --connections"
      )
    }
    if total.calls > 0, Double(total.late) / Double(total.calls) > Self.lateShareMax {
      warnings.append(
        "\(total.late) of \(total.calls) calls were sent late: \(plan.concurrency) calls in flight are not enough for this rate"
      )
    }
    if total.dropped > 0 {
      warnings.append("\(total.dropped) calls were due but never sent")
    }
    if total.calls == 0 { warnings.append("no call has ended during the measurement") }
    return warnings
  }

  private static func latency(_ histogram: Histogram<UInt64>) -> LoadReport.Latency {
    guard histogram.totalCount > 0 else {
      return .init(meanMs: 0, minMs: 0, maxMs: 0, percentilesMs: [:])
    }
    var percentiles: [String: Double] = [:]
    for name in LoadReport.percentiles {
      percentiles[name] = fine(histogram.valueAtPercentile(Double(name) ?? 0))
    }
    return .init(
      meanMs: fine(UInt64(max(0, histogram.mean))), minMs: fine(histogram.min), maxMs: fine(histogram.max),
      percentilesMs: percentiles)
  }

  /// Returns milliseconds, rounded to microseconds.
  private static func fine(_ nanoseconds: UInt64) -> Double { (Double(nanoseconds) / 1e3).rounded() / 1e3 }

  /// The buckets from the first to the last with calls, at most 60. Each is a quarter of a power of two wide.
  private var buckets: [LoadReport.Bucket] {
    var counts: [Int: Int] = [:]
    for value in total.corrected.recordedValues() {
      let step = Int((log2(Double(max(1, value.value))) * 4).rounded(.up))
      counts[step, default: 0] += Int(clamping: value.count)
    }
    guard let first = counts.keys.min(), let last = counts.keys.max() else { return [] }
    return (max(first, last - 59)...last).map { step in
      let calls =
        step == max(first, last - 59) ? counts.filter { $0.key <= step }.values.reduce(0, +) : counts[step] ?? 0
      return .init(upToMs: (exp2(Double(step) / 4) / 1e3).rounded() / 1e3, calls: calls)
    }
  }

  /// The percentile curve, with 5 points for each halving of the distance to 100 %.
  private var curve: [LoadReport.Point] {
    guard total.corrected.totalCount > 0 else { return [] }
    return total.corrected.percentiles(ticksPerHalfDistance: 5).prefix(200).map {
      .init(percentile: $0.percentile, ms: Self.fine($0.value))
    }
  }
}
