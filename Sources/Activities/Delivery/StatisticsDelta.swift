import CampanileStore

/// What is counted by app and hour. Its text is in the database.
struct StatisticsMeasure: Sendable, Hashable {
  let text: String

  /// Taken by APNs, which is not delivered.
  static let accepted = Self(text: "accepted")
  /// An unsent state that a newer one replaced.
  static let coalesced = Self(text: "coalesced")
  static let expired = Self(text: "expired")
  static let retried = Self(text: "retried")
  static let deadLetters = Self(text: "dead")
  static let retiredTokens = Self(text: "retired")
  /// Pushes whose token was gone when they were to be sent.
  static let withoutToken = Self(text: "tokenless")

  static let rejectedPrefix = "rejected:"
  static let latencyPrefix = "latency:"

  /// Refused by APNs, by reason. A reason comes from outside: what is no short word counts as `Other`.
  static func rejected(_ reason: String) -> Self {
    let isWord = (1...40).contains(reason.utf8.count) && reason.utf8.allSatisfy { (65...90).contains($0 & 0xDF) }
    return Self(text: rejectedPrefix + (isWord ? reason : "Other"))
  }

  /// Accepted after a time between queueing and the answer, by bucket of `LatencyHistogram`.
  static func latency(bucket: Int) -> Self { Self(text: "\(latencyPrefix)\(bucket)") }
}

/// Counts on their way to the table.
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

/// Latencies in buckets whose width is a quarter of a power of two, so that a percentile is at most an eighth off. Pure.
enum LatencyHistogram {
  /// The bucket of a duration in milliseconds: 0 to 3 stand for themselves.
  static func bucket(_ latencyMs: Int64) -> Int {
    let value = UInt64(max(0, latencyMs))
    guard value >= 4 else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount
    return 4 * (exponent - 1) + Int(value >> UInt64(exponent - 2) & 3)
  }

  /// The middle of a bucket in milliseconds.
  static func valueMs(bucket: Int) -> Int64 {
    guard bucket >= 4 else { return Int64(max(0, bucket)) }
    let exponent = min(bucket / 4 + 1, 60)
    let width = Int64(1) << Int64(exponent - 2)
    return Int64(4 + bucket % 4) * width + width / 2
  }

  /// The latency below which `fraction` of the samples are; 0 without samples.
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
