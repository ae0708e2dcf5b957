import CampanileAPI
import CampanileCodec
import CampanileService

/// Validation of requests that start a driver, beyond the constraints of the contract.
enum DriverRules {
  /// Validates a timer that starts now, or that started before the server was notified.
  static func timer(_ request: StartTimerRequest, nowMs: Int64, _ violations: inout Violations) -> TimerState {
    if request.duration == nil, request.sessionType.contentName != nil, !request.sessionType.mayBeOpen {
      violations.add("duration", "must be given: only FREESTYLE and COUNTUP have no end", .required)
    }
    if request.completesByItself, request.duration == nil {
      violations.add("completesByItself", "needs a duration", .required)
    }
    let startedMs = TimeRules.milliseconds(request.startTime, "startTime", &violations) ?? nowMs
    // Tolerate one minute of clock difference with the device.
    if startedMs > nowMs + 60_000 || startedMs < nowMs - SQLiteActivitiesRepository.lifetimeMs {
      violations.add("startTime", "must be at most 8 h ago and not in the future", .outOfRange)
    }
    return TimerState(
      startTime: ProtoTimestamp(millisecondsSince1970: startedMs), totalPaused: ProtoDuration(),
      duration: request.duration, methodName: request.methodName, sessionType: request.sessionType,
      completesByItself: request.completesByItself, ranksByItself: request.relevanceScore == nil, url: request.url)
  }
}
