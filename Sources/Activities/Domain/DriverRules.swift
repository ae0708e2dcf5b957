import CampanileAPI
import CampanileCodec
import CampanileService

/// Validation of requests that start a driver.
enum DriverRules {
  /// Validates a timer that starts now, or that started before the server was notified.
  static func timer(_ request: StartTimerRequest, nowMs: Int64, _ violations: inout Violations) -> TimerState {
    if request.durationMs == 0, !TimerMachine.openTypes.contains(request.sessionType) {
      violations.add("durationMs", "must be given: only freestyle and countup have no end", .outOfRange)
    }
    if request.completesByItself, request.durationMs == 0 {
      violations.add("completesByItself", "needs a durationMs", .required)
    }
    let startedMs = TimeRules.milliseconds(request.startedAt, "startedAt", &violations) ?? nowMs
    // Tolerate one minute of clock difference with the device.
    if startedMs > nowMs + 60_000 || startedMs < nowMs - SQLiteActivitiesRepository.lifetimeMs {
      violations.add("startedAt", "must be at most 8 h ago and not in the future", .outOfRange)
    }
    return TimerState(
      startedAt: ProtoTimestamp(millisecondsSince1970: startedMs), durationMs: request.durationMs,
      methodName: request.methodName, sessionType: request.sessionType, completesByItself: request.completesByItself)
  }
}
