import CampanileBase
import CampanileStore

/// An event counted by app and hour. Its text is stored in the database.
struct StatisticsMeasure: Sendable, Hashable {
  let text: String

  /// Accepted by APNs, which does not imply delivery.
  static let accepted = Self(text: "accepted")
  /// An unsent state that was replaced by a newer one.
  static let coalesced = Self(text: "coalesced")
  static let expired = Self(text: "expired")
  static let retried = Self(text: "retried")
  static let deadLetters = Self(text: "dead")
  static let retiredTokens = Self(text: "retired")
  /// A push whose token had been deleted or retired when it was due.
  static let withoutToken = Self(text: "tokenless")

  static let rejectedPrefix = "rejected:"
  static let latencyPrefix = "latency:"

  /// Rejected by APNs, by reason. Text that is not a short word counts as `Other`, because it comes from outside.
  static func rejected(_ reason: String) -> Self {
    let isWord = (1...40).contains(reason.utf8.count) && reason.utf8.allSatisfy { (65...90).contains($0 & 0xDF) }
    return Self(text: rejectedPrefix + (isWord ? reason : "Other"))
  }

  /// Accepted, by latency from queueing to the response, as a bucket of `PushLatencyHistogram`.
  static func latency(bucket: Int) -> Self { Self(text: "\(latencyPrefix)\(bucket)") }
}

/// Counts that are not yet written to the table.
struct StatisticsDelta: Sendable, Hashable {
  static let hourMs: Int64 = 3_600_000

  private struct Key: Hashable {
    var app: String
    var hourMs: Int64
    var measure: StatisticsMeasure
  }

  private var counts: [Key: Int64] = [:]

  var isEmpty: Bool { counts.isEmpty }

  mutating func add(_ measure: StatisticsMeasure, app: String, atMs: Int64, by count: Int64 = 1) {
    let hourMs = atMs - ((atMs % Self.hourMs) + Self.hourMs) % Self.hourMs
    counts[Key(app: app, hourMs: hourMs, measure: measure), default: 0] += count
  }

  func write(_ transaction: WriteTransaction) throws {
    for (key, count) in counts {
      try transaction.execute(
        """
        INSERT INTO push_statistics (app, hour_ms, measure, count) VALUES ($1, $2, $3, $4)
        ON CONFLICT (app, hour_ms, measure) DO UPDATE SET count = push_statistics.count + excluded.count
        """, [.text(key.app), .integer(key.hourMs), .text(key.measure.text), .integer(count)])
    }
  }
}

/// A latency histogram in milliseconds. A bucket's width is a quarter of a power of two, so that a percentile is at
/// most an eighth off. Pure.
enum PushLatencyHistogram {
  // The table stores the numbers of the buckets.
  private static let buckets = LogLinearBuckets(precisionBits: 2, powerMax: 63)

  static func bucket(_ latencyMs: Int64) -> Int { buckets.bucket(of: latencyMs) }

  /// Returns the middle of a bucket in milliseconds.
  static func valueMs(bucket: Int) -> Int64 {
    let (lowerMs, upperMs) = buckets.range(of: min(max(0, bucket), buckets.count - 1))
    return lowerMs + (upperMs - lowerMs) / 2
  }

  /// Returns the latency below which `fraction` of the samples lie, or 0 without samples.
  static func percentileMs(_ fraction: Double, of counts: [Int: Int64]) -> Int64 {
    let total = counts.values.reduce(0, +)
    guard total > 0 else { return 0 }
    let rank = max(1, Int64((Double(total) * fraction).rounded(.up)))
    var seen: Int64 = 0
    for (bucket, count) in counts.sorted(by: { $0.key < $1.key }) {
      seen += count
      if seen >= rank { return valueMs(bucket: bucket) }
    }
    return 0
  }
}
