/// What a load test sends, how fast and for how long.
///
/// A closed loop keeps `concurrency` calls in flight: the next starts when one ends, so a slow server is asked less. An open loop
/// sends at the times of its schedule whatever the server does, as many users would; a call that finds `concurrency` others in
/// flight waits, and its wait counts.
public struct LoadPlan: Sendable, Hashable {
  public enum Pace: Sendable, Hashable {
    case closed
    case open(ArrivalRate, ArrivalSpacing)
  }

  public var pace = Pace.closed
  /// Calls in flight at most, 1 to 100,000, over all connections.
  public var concurrency = 64
  /// 1 to 10,000 and no more than `concurrency`.
  public var connections = 1
  /// Event loops, 1 to 64 and no more than `connections`.
  public var threads = 1
  /// Sent before what is measured, 0 to 10 minutes.
  public var warmupMs: Int64 = 0
  /// The measured part, 1 ms to 24 hours. With `count` the run ends at what comes first.
  public var durationMs: Int64 = 10_000
  /// Measured calls at most; `nil` is no limit.
  public var count: Int?
  /// The deadline of each call, 1 ms to an hour. An arrival that could not be sent for so long is dropped.
  public var timeoutMs: Int64 = 30_000
  public var stream = StreamPlan()
  /// Where random numbers begin: the same seed gives the same arrivals and the same requests. 0 to 2^32 - 1, which every reader of
  /// JSON keeps.
  public var seed: UInt64 = 1

  public init() {}

  /// A call that was sent later than this after its time is counted as late.
  public static let lateMs: Int64 = 1

  /// The longest `durationMs`: a day.
  public static let durationMsMax: Int64 = 86_400_000
  /// The longest `timeoutMs`.
  static let timeoutMsMax: Int64 = 3_600_000

  /// Throws `LOAD_PLAN_INVALID` with the option that is out of its range.
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

/// How calls with streams go.
public struct StreamPlan: Sendable, Hashable {
  /// Requests that a call sends, where its method takes a stream of them; else the messages after which a stream of answers is
  /// cancelled, which counts as its end. `nil`: one request; answers until their end.
  public var messages: Int?
  /// Requests a second within one call; `nil`: as fast as the server takes them.
  public var messagesPerSecond: Double?

  public init(messages: Int? = nil, messagesPerSecond: Double? = nil) {
    self.messages = messages
    self.messagesPerSecond = messagesPerSecond
  }
}
