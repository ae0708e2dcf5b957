internal import CampanileRPC
internal import Foundation
internal import Histogram

/// Turns what was recorded into a report.
struct ReportBuilder {
  var plan: LoadPlan
  var target: LoadTarget
  var startTime: Date
  private var total = LoadRecord()
  /// Of the measured part so far.
  private(set) var calls = 0
  private(set) var errors = 0
  var seconds: [LoadReport.Second] = []
  var measuredS = 0.0
  var clientCPUShare = 0.0
  /// Of the thread with the largest; see `ProcessorWatch`.
  var processorWaitShare: Double?
  var processorOthersShare: Double?
  var wasInterrupted = false

  /// More than this, and the tester itself may be what is slow.
  static let clientCPUShareMax = 0.9
  /// More than this, and the latencies have a part that is the tester's own wait.
  static let processorWaitShareMax = 0.05
  /// Late calls above this share of all are told.
  static let lateShareMax = 0.05

  init(plan: LoadPlan, target: LoadTarget, startTime: Date) {
    self.plan = plan
    self.target = target
    self.startTime = startTime
  }

  /// Adds what was measured from `startS` to `endS` of the measured part.
  mutating func add(_ interval: LoadInterval, startS: Double, endS: Double) {
    calls += interval.calls
    errors += interval.errors
    guard endS > startS else { return }
    seconds.append(
      LoadReport.Second(
        startMs: startS * 1000, callsPerSecond: Double(interval.calls) / (endS - startS), errors: interval.errors,
        p50Ms: Self.fine(interval.percentileNs(50)), p99Ms: Self.fine(interval.percentileNs(99))))
  }

  /// Adds all that a loop has measured, also of calls that were in flight when the measured part was over.
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
      processorWaitShare: processorWaitShare, processorOthersShare: processorOthersShare,
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
        "this tester used \(Int(clientCPUShare * 100)) % of its \(plan.threads) threads: it may be the limit; give it more --threads and --connections"
      )
    }
    if let share = processorWaitShare, share > Self.processorWaitShareMax {
      warnings.append(
        "this tester waited \(Int(share * 100)) % of the time for a processor that others use: the latencies contain that wait"
      )
    }
    if let share = processorOthersShare, share > ProcessorWatch.sharedOthersShare {
      warnings.append(
        "this tester was on a processor that others used \(Int(share * 100)) % of the time: it takes from them what it uses itself"
      )
    }
    if total.calls > 0, Double(total.late) / Double(total.calls) > Self.lateShareMax {
      warnings.append(
        "\(total.late) of \(total.calls) calls were sent late: \(plan.concurrency) in flight are not enough for this rate"
      )
    }
    if total.dropped > 0 {
      warnings.append("\(total.dropped) calls were due and never sent")
    }
    if total.calls == 0 { warnings.append("no call has ended in the measured part") }
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

  /// Milliseconds with the microseconds.
  private static func fine(_ nanoseconds: UInt64) -> Double { (Double(nanoseconds) / 1e3).rounded() / 1e3 }

  /// At most 60 buckets, each a quarter of a power of two wide, from the first to the last with calls.
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

  /// The percentile curve, denser towards the slowest: 5 points for each halving of the rest.
  private var curve: [LoadReport.Point] {
    guard total.corrected.totalCount > 0 else { return [] }
    return total.corrected.percentiles(ticksPerHalfDistance: 5).prefix(200).map {
      .init(percentile: $0.percentile, ms: Self.fine($0.value))
    }
  }
}
