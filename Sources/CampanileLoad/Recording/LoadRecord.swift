internal import Histogram

extension Histogram<UInt64> {
  /// Creates a histogram with initial capacity for every latency up to the longest deadline.
  ///
  /// Otherwise, the histogram would grow during the first measured calls and block sending for milliseconds. It still
  /// grows for larger latencies.
  static func ofLatencies(_ digits: SignificantDigits) -> Self {
    let highestNs = UInt64(LoadPlan.timeoutMsMax) * 1_000_000
    var histogram = Self(highestTrackableValue: highestNs, numberOfSignificantValueDigits: digits)
    histogram.autoResize = true
    return histogram
  }
}

/// The measurements of a whole run, on one event loop or all. The large histograms are merged only once, at the end.
struct LoadRecord: Sendable {
  /// Latencies in nanoseconds, from the time a call was due to its end. A call of a closed loop is due when it is sent.
  var corrected = Histogram<UInt64>.ofLatencies(.three)
  /// Latencies in nanoseconds, from the time a call was sent. Empty for a closed loop, where it would be the same.
  var uncorrected = Histogram<UInt64>.ofLatencies(.three)
  /// Finished calls by gRPC status number.
  var statuses = [Int](repeating: 0, count: 17)
  /// The first message of each error status.
  var messages = [String?](repeating: nil, count: 17)
  /// Calls that ended during the measurement, including those sent before it.
  private(set) var inTime = 0
  /// The end of the last of those calls, on the monotonic clock.
  private(set) var lastNs: Int64 = 0
  /// Calls sent more than `LoadPlan.lateMs` after they were due.
  var late = 0
  /// Calls never sent, because they were overdue by more than the deadline or the run ended.
  var dropped = 0
  /// Calls still in flight when the run stopped waiting for them.
  var unfinished = 0
  var messagesSent = 0
  var messagesReceived = 0

  var calls: Int { statuses.reduce(0, +) }
  var errors: Int { calls - statuses[0] }

  /// Records a finished call. Times are nanoseconds on the monotonic clock.
  mutating func ended(status: Int, dueNs: Int64, sentNs: Int64, nowNs: Int64, isOpenLoop: Bool) {
    statuses[min(max(status, 0), 16)] += 1
    corrected.record(UInt64(max(0, nowNs - dueNs)))
    if isOpenLoop { uncorrected.record(UInt64(max(0, nowNs - sentNs))) }
  }

  /// Counts a call that ended during the measurement.
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
