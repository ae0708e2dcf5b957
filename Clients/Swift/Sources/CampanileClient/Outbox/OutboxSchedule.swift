import CampanileBase

/// The order in which entries are sent: one at a time for each object, with pauses after failures. No I/O.
struct OutboxSchedule {
  /// The result of an attempt.
  enum Outcome: Equatable {
    case sent
    case refused(RPCError)
    /// The entry is sent again later.
    case waiting
  }

  private struct Pause {
    var failures = 0
    /// Failures that another attempt may meet again.
    var faults = 0
    var untilMs: Int64 = 0
  }

  private var pauses: [String: Pause] = [:]
  private let limits: OutboxLimits
  private let backoff = Backoff(initialDelay: .milliseconds(500), multiplier: 2, jitter: 0.2, delayMax: .seconds(60))

  init(_ limits: OutboxLimits) { self.limits = limits }

  /// Returns the entries of objects that do not pause, at most `OutboxLimits.concurrentMax`.
  ///
  /// - Parameter heads: The first entry of each object.
  func ready(_ heads: [OutboxEntry], nowMs: Int64) -> [OutboxEntry] {
    Array(
      heads.lazy.filter { (pauses[$0.object]?.untilMs ?? 0) <= nowMs }
        .prefix(max(1, limits.concurrentMax)))
  }

  /// The time until the first pause ends; `nil` without a pause.
  func pauseMs(nowMs: Int64) -> Int64? { pauses.values.map { max(0, $0.untilMs - nowMs) }.min() }

  /// Ends all pauses, for example once the network is back.
  mutating func resume() {
    for object in pauses.keys { pauses[object]?.untilMs = 0 }
  }

  /// Records the result of an attempt.
  mutating func finished(_ entry: OutboxEntry, _ error: RPCError?, nowMs: Int64, random: Double) -> Outcome {
    guard let error else {
      pauses[entry.object] = nil
      return .sent
    }
    var pause = pauses[entry.object] ?? Pause()
    if Self.isFault(error) { pause.faults += 1 }
    guard Self.isTransient(error) || Self.isFault(error) && pause.faults < limits.faultsMax else {
      pauses[entry.object] = nil
      return .refused(error)
    }
    pause.failures += 1
    let requestedMs = error.retryAfterMs ?? 0
    let delayMs = backoff.delayMs(failures: pause.failures, random: random)
    pause.untilMs = nowMs + max(delayMs, requestedMs + Int64(Double(requestedMs) * 0.2 * random))
    pauses[entry.object] = pause
    return .waiting
  }

  /// Whether the call may succeed at another time, or with another credential.
  private static func isTransient(_ error: RPCError) -> Bool {
    if error.retryAfterMs != nil { return true }
    switch error.code {
    case .unavailable, .deadlineExceeded, .cancelled, .unauthenticated: return true
    default: return false
    }
  }

  /// Whether the server has failed, which may or may not pass.
  private static func isFault(_ error: RPCError) -> Bool {
    error.code == .internalError || error.code == .unknown || error.code == .dataLoss
  }
}
