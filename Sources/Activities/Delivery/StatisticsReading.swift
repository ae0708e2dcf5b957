import CampanileAPI
import CampanileCodec
import CampanileStore

/// Assembles hourly statistics from the counts.
enum StatisticsReading {
  /// The longest period of one request.
  static let hoursMax = 31 * 24
  static let sql = """
    SELECT hour_ms, measure, count FROM push_statistics WHERE app = $1 AND hour_ms >= $2 AND hour_ms < $3
    ORDER BY hour_ms, measure
    """

  /// Returns the hours of an app in `startMs..<endMs` with any counts, oldest first and at most `hoursMax`.
  static func hours(
    app: String, startMs: Int64, endMs: Int64, hoursMax: Int, in transaction: ReadTransaction
  ) throws -> [PushStatistics] {
    var hours: [PushStatistics] = []
    var latencies: [Int: Int64] = [:]
    var hourMs: Int64?
    func finish() {
      guard !hours.isEmpty else { return }
      let last = hours.count - 1
      hours[last].latencyP50 = latency(0.5, of: latencies)
      hours[last].latencyP90 = latency(0.9, of: latencies)
      hours[last].latencyP99 = latency(0.99, of: latencies)
      latencies = [:]
    }
    try transaction.forEach(sql, [.text(app), .integer(startMs), .integer(endMs)]) { row in
      let rowMs = try row.integer(0)
      if rowMs != hourMs {
        finish()
        hourMs = rowMs
        let hour = PushStatistics(app: app, startTime: ProtoTimestamp(millisecondsSince1970: rowMs))
        hours.append(hour)
      }
      add(try row.text(1), try row.integer(2), to: &hours[hours.count - 1], &latencies)
      return hours.count <= hoursMax
    }
    finish()
    return Array(hours.prefix(hoursMax))
  }

  /// Returns a percentile, or nil without responses.
  private static func latency(_ fraction: Double, of counts: [Int: Int64]) -> ProtoDuration? {
    guard !counts.isEmpty else { return nil }
    return ProtoDuration(milliseconds: PushLatencyHistogram.percentileMs(fraction, of: counts))
  }

  private static func add(
    _ measure: String, _ count: Int64, to hour: inout PushStatistics, _ latencies: inout [Int: Int64]
  ) {
    switch StatisticsMeasure(text: measure) {
    case .accepted: hour.acceptedCount = count
    case .coalesced: hour.coalescedCount = count
    case .expired: hour.expiredCount = count
    case .retried: hour.retriedCount = count
    case .deadLetters: hour.deadLetterCount = count
    case .retiredTokens: hour.retiredTokenCount = count
    case .withoutToken: hour.withoutTokenCount = count
    default:
      if measure.hasPrefix(StatisticsMeasure.rejectedPrefix) {
        hour.rejectedCounts[String(measure.dropFirst(StatisticsMeasure.rejectedPrefix.count))] = count
      } else if measure.hasPrefix(StatisticsMeasure.latencyPrefix),
        let bucket = Int(measure.dropFirst(StatisticsMeasure.latencyPrefix.count))
      {
        latencies[bucket, default: 0] += count
      }
    }
  }
}
