/// What a load test found; the form that `--output json` writes and `load compare` reads.
///
/// Times are milliseconds. Latencies are of all calls that were due within the measured part and ended, failed ones too.
public struct LoadReport: Sendable, Hashable, Codable {
  public struct Latency: Sendable, Hashable, Codable {
    public var meanMs: Double
    public var minMs: Double
    public var maxMs: Double
    /// By percentile: `50`, `75`, `90`, `95`, `99`, `99.9`, `99.99`.
    public var percentilesMs: [String: Double]
  }

  /// One second of the measured part.
  public struct Second: Sendable, Hashable, Codable {
    /// Where it begins, from the beginning of the measured part.
    public var startMs: Double
    public var callsPerSecond: Double
    public var errors: Int
    public var p50Ms: Double
    public var p99Ms: Double
  }

  /// Calls whose latency is at most `upToMs`, and more than that of the bucket before.
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
    /// What the first one said.
    public var message: String?
  }

  public static let versionNow = 1

  /// The version of this form.
  public var version = versionNow
  public var target: String
  public var method: String
  /// When it began, before its warm-up: RFC 3339.
  public var startTime: String
  /// In words: closed or open loop and its numbers.
  public var pace: String
  public var concurrency: Int
  public var connections: Int
  public var threads: Int
  /// With it `--seed` repeats the arrivals and requests.
  public var seed: UInt64
  /// Length of the measured part; with a count until the last call's end.
  public var durationMs: Double
  public var calls: Int
  public var errors: Int
  /// Calls that ended within the measured part, by its length. What a slow server answers after it is in `calls` alone.
  public var callsPerSecond: Double
  /// By the name of the gRPC status; `OK` too.
  public var statuses: [String: Failure]
  /// From when a call was due. The figure to look at: a server that stalls delays all calls of that time.
  public var latency: Latency
  /// From when a call was sent, for an open loop; it hides how long calls waited for their turn.
  public var uncorrectedLatency: Latency?
  /// Sent later than a millisecond after their time.
  public var lateCount: Int
  /// Never sent.
  public var droppedCount: Int
  /// Without an answer when the run was ended early.
  public var unfinishedCount: Int
  public var messagesSent: Int
  public var messagesReceived: Int
  /// Share of its threads' time that this tester was busy, 0 to 1.
  public var clientCPUShare: Double
  /// Share of the time that the thread of this tester which waited longest was ready to run and had no processor, 0 to 1; `nil` where the
  /// system does not tell (Linux does), and for a run shorter than a second.
  public var processorWaitShare: Double?
  /// Share of the time that others had the processor which that thread of this tester was on that shared most, 0 to 1; `nil` as above.
  public var processorOthersShare: Double?
  public var wasInterrupted: Bool
  public var warnings: [String]
  public var seconds: [Second]
  public var buckets: [Bucket]
  public var curve: [Point]

  /// 0 to 1: failed calls, and those that were never sent, of all that were due.
  public var errorShare: Double {
    let due = calls + droppedCount + unfinishedCount
    return due == 0 ? 0 : Double(errors + droppedCount + unfinishedCount) / Double(due)
  }

  static let percentiles = ["50", "75", "90", "95", "99", "99.9", "99.99"]
}
