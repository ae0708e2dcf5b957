/// The results of a load test, in the format that `--output json` writes and `load compare` reads.
///
/// Times are milliseconds. Latencies cover all finished calls, also failed ones, that were due during the measurement.
public struct LoadReport: Sendable, Hashable, Codable {
  public struct Latency: Sendable, Hashable, Codable {
    public var meanMs: Double
    public var minMs: Double
    public var maxMs: Double
    /// Latencies by percentile: `50`, `75`, `90`, `95`, `99`, `99.9`, `99.99`.
    public var percentilesMs: [String: Double]
  }

  /// One second of the measurement.
  public struct Second: Sendable, Hashable, Codable {
    /// Its start, from the start of the measurement.
    public var startMs: Double
    public var callsPerSecond: Double
    public var errors: Int
    public var p50Ms: Double
    public var p99Ms: Double
  }

  /// The calls whose latency is at most `upToMs` and more than that of the previous bucket.
  public struct Bucket: Sendable, Hashable, Codable {
    public var upToMs: Double
    public var calls: Int
  }

  /// A point of the percentile curve.
  public struct Point: Sendable, Hashable, Codable {
    public var percentile: Double
    public var ms: Double
  }

  public struct Failure: Sendable, Hashable, Codable {
    public var calls: Int
    /// The message of the first failure.
    public var message: String?
  }

  public static let versionNow = 1

  /// Version of this format.
  public var version = versionNow
  public var target: String
  public var method: String
  /// Start time, before the warm-up (RFC 3339).
  public var startTime: String
  /// A description of the closed or open loop.
  public var pace: String
  public var concurrency: Int
  public var connections: Int
  public var threads: Int
  /// Random seed; `--seed` repeats the arrivals and requests with it.
  public var seed: UInt64
  /// Duration of the measurement; with a count, until the end of the last call.
  public var durationMs: Double
  public var calls: Int
  public var errors: Int
  /// Rate of the calls that ended during the measurement. Calls that end later count only in `calls`.
  public var callsPerSecond: Double
  /// Calls by name of the gRPC status, including `OK`.
  public var statuses: [String: Failure]
  /// Latency from the time a call was due. Prefer this value: a stalled server delays all calls due during the stall.
  public var latency: Latency
  /// Latency from the time a call was sent, for an open loop. It hides how long due calls waited before they were sent.
  public var uncorrectedLatency: Latency?
  /// Calls sent more than a millisecond after they were due.
  public var lateCount: Int
  /// Calls that were due but never sent.
  public var droppedCount: Int
  /// Calls still in flight when the run stopped waiting for them.
  public var unfinishedCount: Int
  public var messagesSent: Int
  public var messagesReceived: Int
  /// Share of their time that the load test's threads were busy, 0 to 1.
  public var clientCPUShare: Double
  public var wasInterrupted: Bool
  public var warnings: [String]
  public var seconds: [Second]
  public var buckets: [Bucket]
  public var curve: [Point]

  /// Share of failed, dropped and unfinished calls among all due calls, 0 to 1.
  public var errorShare: Double {
    let due = calls + droppedCount + unfinishedCount
    return due == 0 ? 0 : Double(errors + droppedCount + unfinishedCount) / Double(due)
  }

  static let percentiles = ["50", "75", "90", "95", "99", "99.9", "99.99"]
}
