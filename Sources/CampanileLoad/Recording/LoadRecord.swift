internal import Histogram

extension Histogram<UInt64> {
  /// One with room for every latency within the longest deadline from the beginning. One that grows with its values does so in the first
  /// measured calls, and that takes milliseconds, in which none is sent. It still grows for what is longer.
  static func ofLatencies(_ digits: SignificantDigits) -> Self {
    let highestNs = UInt64(LoadPlan.timeoutMsMax) * 1_000_000
    var histogram = Self(highestTrackableValue: highestNs, numberOfSignificantValueDigits: digits)
    histogram.autoResize = true
    return histogram
  }
}

/// What was measured in a whole run, on one loop or on all. Its histograms are large: they are put together once, at the end.
struct LoadRecord: Sendable {
  /// Nanoseconds from when a call was due (an open loop's schedule; else when it was sent) to its end.
  var corrected = Histogram<UInt64>.ofLatencies(.three)
  /// Nanoseconds from when it was sent. Empty for a closed loop, where it is the same.
  var uncorrected = Histogram<UInt64>.ofLatencies(.three)
  /// Ended calls by the number of their gRPC status.
  var statuses = [Int](repeating: 0, count: 17)
  /// The first message of each status that is no success.
  var messages = [String?](repeating: nil, count: 17)
  /// Calls that ended while it was measured, those that were sent before it too.
  private(set) var inTime = 0
  /// When the last of them ended.
  private(set) var lastNs: Int64 = 0
  /// Sent later than `LoadPlan.lateMs` after their time.
  var late = 0
  /// Never sent: their time was more than the deadline ago, or the run was over.
  var dropped = 0
  /// Still without an answer when the run was ended early.
  var unfinished = 0
  var messagesSent = 0
  var messagesReceived = 0

  var calls: Int { statuses.reduce(0, +) }
  var errors: Int { calls - statuses[0] }

  /// Ends one call that was due and sent at these nanoseconds of the monotonic clock.
  mutating func ended(status: Int, dueNs: Int64, sentNs: Int64, nowNs: Int64, isOpenLoop: Bool) {
    statuses[min(max(status, 0), 16)] += 1
    corrected.record(UInt64(max(0, nowNs - dueNs)))
    if isOpenLoop { uncorrected.record(UInt64(max(0, nowNs - sentNs))) }
  }

  /// A call has ended within the measured part.
  @inline(__always)
  mutating func endedInTime(nowNs: Int64) {
    inTime += 1
    lastNs = nowNs
  }

  mutating func note(_ message: String, status: Int) {
    let index = min(max(status, 0), 16)
    if messages[index] == nil { messages[index] = String(message.prefix(300)) }
  }

  mutating func add(_ other: LoadRecord) {
    corrected.add(other.corrected)
    uncorrected.add(other.uncorrected)
    for index in statuses.indices {
      statuses[index] += other.statuses[index]
      messages[index] = messages[index] ?? other.messages[index]
    }
    inTime += other.inTime
    lastNs = max(lastNs, other.lastNs)
    late += other.late
    dropped += other.dropped
    unfinished += other.unfinished
    messagesSent += other.messagesSent
    messagesReceived += other.messagesReceived
  }
}
