import CampanileAPI
import CampanileCodec
import CampanileService

/// Validation of requests that start a driver.
enum DriverRules {
  static let methodNameMax = 100
  static let durationMsMax: Int64 = 8 * 3_600_000
  static let roomIDCharacters = 48
  static let waitingMinutes: ClosedRange<Int32> = 0...480

  /// Validates a timer that starts now, or that started before the server was notified.
  static func timer(_ request: StartTimerRequest, nowMs: Int64, _ violations: inout Violations) -> TimerState {
    violations.text(request.methodName, "methodName", max: methodNameMax)
    if !TimerMachine.sessionTypes.contains(request.sessionType) || request.sessionType == TimerMachine.completedType {
      let known = TimerMachine.sessionTypes.subtracting([TimerMachine.completedType]).sorted()
      violations.add("sessionType", "must be one of \(known.joined(separator: ", "))", .sessionTypeUnknown)
    }
    let isOpen = TimerMachine.openTypes.contains(request.sessionType)
    if !(1_000...durationMsMax).contains(request.durationMs), !(isOpen && request.durationMs == 0) {
      violations.add("durationMs", "must be 1000 to \(durationMsMax)", .outOfRange)
    }
    if request.completesByItself, request.durationMs == 0 {
      violations.add("completesByItself", "needs a durationMs", .required)
    }
    let startedMs = TimeRules.milliseconds(request.startedAt, "startedAt", &violations) ?? nowMs
    // Tolerate one minute of clock difference with the device.
    if startedMs > nowMs + 60_000 || startedMs < nowMs - durationMsMax {
      violations.add("startedAt", "must be at most 8 h ago and not in the future", .outOfRange)
    }
    return TimerState(
      startedAt: ProtoTimestamp(millisecondsSince1970: startedMs), durationMs: request.durationMs,
      methodName: request.methodName, sessionType: request.sessionType, completesByItself: request.completesByItself)
  }

  static func roomID(_ id: String, _ violations: inout Violations) {
    let isValid =
      id.utf8.count == roomIDCharacters
      && id.utf8.allSatisfy { TextRules.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    if !isValid {
      violations.add("roomId", "must be \(roomIDCharacters) lower-case hexadecimal digits", .roomIDInvalid)
    }
  }
}
