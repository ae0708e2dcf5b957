import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Validation of updates and ends beyond the constraints of the contract.
enum UpdateRules {
  /// Validates an update. Throws INVALID_ARGUMENT naming every invalid field.
  static func change(
    _ request: UpdateActivityRequest, nowMs: Int64, traceParent: String?
  ) throws(RPCError) -> ActivityChange {
    var violations = Violations()
    request.validate(into: &violations)
    let isEnd = request.event == LiveActivityEvent.end.rawValue
    let isUpdate = request.event.isEmpty || request.event == LiveActivityEvent.update.rawValue
    if isUpdate, request.contentState == nil, request.alert == nil, request.relevanceScore == nil {
      violations.add("contentState", "must be given", .required)
    }
    ActivityRules.alert(request.alert, "alert", &violations)
    let staleMs = TimeRules.milliseconds(request.staleTime, "staleTime", &violations)
    try violations.check()
    var change = ActivityChange(
      contentState: request.contentState, alert: request.alert, staleMs: staleMs,
      relevanceScore: request.relevanceScore, etag: request.etag, traceParent: traceParent)
    switch request.urgency {
    case .low: change.priority = .low
    case .high: change.priority = .high
    default: change.priority = .automatic
    }
    if isEnd { change.end = .init(reason: .requested, dismissal: .automatic) }
    return change
  }

  /// Throws FAILED_PRECONDITION, reason `ACTIVITY_DRIVEN`, if a caller sets the state of an activity that a driver
  /// controls.
  static func checkDriver(_ activity: StoredActivity, _ change: ActivityChange) throws(RPCError) {
    guard activity.driver != nil, change.contentState != nil, change.end == nil else { return }
    throw .refused(
      "contentState", "this activity's state is controlled by its timer, room or unread summary", .activityDriven)
  }

  /// Validates an end. Throws INVALID_ARGUMENT naming every invalid field.
  static func end(_ request: EndActivityRequest, nowMs: Int64, traceParent: String?) throws(RPCError) -> PlannedEnd {
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.alert(request.alert, "alert", &violations)
    RequestChecks.future(request.endTime, "endTime", nowMs: nowMs, &violations)
    let endAtMs = violations.isEmpty ? TimeRules.milliseconds(request.endTime, "endTime", &violations) : nil
    let dismissal = ActivityRules.dismissalMs(
      request.dismissalTime, endMs: endAtMs ?? nowMs, "dismissalTime", &violations)
    try violations.check()
    let change = ActivityChange(
      contentState: request.contentState, alert: request.alert, priority: .high,
      end: .init(reason: .requested, dismissal: dismissal), etag: request.etag, traceParent: traceParent)
    return PlannedEnd(change: change, endAtMs: endAtMs)
  }
}
