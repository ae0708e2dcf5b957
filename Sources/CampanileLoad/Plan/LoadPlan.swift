/// The parameters of a load test: pace, concurrency, duration and limits.
///
/// A closed loop keeps `concurrency` calls in flight. It sends fewer calls to a slow server, because each one waits for
/// another to end.
///
/// An open loop sends calls on schedule, however fast the server responds, as many independent users would. If
/// `concurrency` calls are in flight, a due call waits, and its latency includes the wait.
public struct LoadPlan: Sendable, Hashable {
  public enum Pace: Sendable, Hashable {
    case closed
    case open(ArrivalRate, ArrivalSpacing)
  }

  public var pace = Pace.closed
  /// Maximum number of calls in flight over all connections, 1 to 100,000.
  public var concurrency = 64
  /// Number of connections, 1 to 10,000 and at most `concurrency`.
  public var connections = 1
  /// Number of event loops, 1 to 64 and at most `connections`.
  public var threads = 1
  /// Duration of the warm-up before the measurement, 0 to 10 minutes.
  public var warmupMs: Int64 = 0
  /// Duration of the measurement, 1 ms to 24 hours. With `count`, the run ends at whichever comes first.
  public var durationMs: Int64 = 10_000
  /// Maximum number of measured calls; nil for no limit.
  public var count: Int?
  /// Deadline of each call, 1 ms to 1 hour. A call that cannot be sent within this time after it is due is dropped.
  public var timeoutMs: Int64 = 30_000
  public var stream = StreamPlan()
  /// Random seed, 0 to 2^32 - 1, which every JSON parser preserves. Equal seeds give equal arrivals and requests.
  public var seed: UInt64 = 1

  public init() {}

  /// Delay after its due time above which a sent call counts as late.
  public static let lateMs: Int64 = 1

  /// Maximum of `durationMs`: one day.
  public static let durationMsMax: Int64 = 86_400_000
  /// Maximum of `timeoutMs`.
  static let timeoutMsMax: Int64 = 3_600_000

  /// Validates the plan.
  ///
  /// - Throws: `LOAD_PLAN_INVALID` with the option that is out of range.
  public func check() throws(LoadError) {
    func require(_ condition: Bool, _ option: String, _ range: String) throws(LoadError) {
      if !condition { throw LoadError(.planInvalid, field: option, reason: "must be \(range)") }
    }
    try require((1...100_000).contains(concurrency), "--concurrency", "1 to 100000")
    try require(
      (1...10_000).contains(connections) && connections <= concurrency, "--connections",
      "1 to 10000 and no more than --concurrency (\(concurrency))")
    try require(
      (1...64).contains(threads) && threads <= connections, "--threads",
      "1 to 64 and no more than --connections (\(connections))")
    try require((0...600_000).contains(warmupMs), "--warm-up", "0 to 10 minutes")
    try require((1...Self.durationMsMax).contains(durationMs), "--duration", "1 ms to 24 hours")
    if let count { try require((1...1_000_000_000).contains(count), "--count", "1 to 1000000000") }
    try require((1...Self.timeoutMsMax).contains(timeoutMs), "--timeout", "1 ms to an hour")
    try require(seed <= UInt64(UInt32.max), "--seed", "0 to \(UInt32.max)")
    if let messages = stream.messages {
      try require((1...10_000_000).contains(messages), "--messages", "1 to 10000000")
    }
    if let rate = stream.messagesPerSecond {
      try require(rate > 0 && rate <= 1_000_000, "--message-rate", "more than 0 and at most 1000000")
    }
  }
}

/// The parameters of streaming calls.
public struct StreamPlan: Sendable, Hashable {
  /// Number of requests in a client stream, or of responses after which a server stream is cancelled.
  ///
  /// Such a cancelled stream counts as successful. Nil means one request, or all responses.
  public var messages: Int?
  /// Requests per second in each call; nil for as fast as the server accepts them.
  public var messagesPerSecond: Double?

  public init(messages: Int? = nil, messagesPerSecond: Double? = nil) {
    self.messages = messages
    self.messagesPerSecond = messagesPerSecond
  }
}
