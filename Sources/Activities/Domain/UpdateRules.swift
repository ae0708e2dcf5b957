import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Validation of updates and ends beyond the constraints of the contract.
enum UpdateRules {
  /// Validates an update. Throws INVALID_ARGUMENT naming every invalid field.
  static func change(_ request: UpdateActivityRequest, traceParent: String?) throws(RPCError) -> StateChange {
    var violations = Violations()
    request.validate(into: &violations)
    JSONObjectText.object(request.contentStateJson, "contentStateJson", &violations)
    ActivityRules.alert(request.alert, "alert", &violations)
    let staleMs = TimeRules.milliseconds(request.staleTime, "staleTime", &violations)
    var change = StateChange(
      contentState: request.contentStateJson.isEmpty ? nil : request.contentStateJson, alert: request.alert,
      etag: request.etag, traceParent: traceParent)
    change.staleMs = optional(
      staleMs, isGiven: request.staleTime != nil, clear: request.clearStaleTime, "clearStaleTime", &violations)
    change.relevanceScore = optional(
      request.relevanceScore, isGiven: request.relevanceScore != nil, clear: request.clearRelevanceScore,
      "clearRelevanceScore", &violations)
    let hasValues = request.staleTime != nil || request.relevanceScore != nil
    let clears = request.clearStaleTime || request.clearRelevanceScore
    if change.contentState == nil, change.alert == nil, !hasValues, !clears {
      violations.add("contentStateJson", "must be given", .required)
    }
    try violations.check()
    change.priority = PushPriority(request.urgency)
    return change
  }

  /// Returns the change of an optional value, which a request either sets or clears.
  private static func optional<Value>(
    _ value: Value?, isGiven: Bool, clear: Bool, _ clearField: String, _ violations: inout Violations
  ) -> OptionalChange<Value> {
    if isGiven, clear { violations.add(clearField, "must not be given together with a value", .fieldNotAllowed) }
    if clear { return .clear }
    return value.map { .set($0) } ?? .keep
  }

  /// Throws FAILED_PRECONDITION, reason `ACTIVITY_DRIVEN`, if a caller sets the state of an activity that a driver
  /// controls.
  static func checkDriver(_ activity: StoredActivity, _ change: StateChange) throws(RPCError) {
    guard activity.driver != nil, change.contentState != nil, change.end == nil else { return }
    throw .refused(
      "contentStateJson", "this activity's state is controlled by its timer, room or unread summary", .activityDriven)
  }

  /// Validates an end. Throws INVALID_ARGUMENT naming every invalid field.
  static func end(_ request: EndActivityRequest, nowMs: Int64, traceParent: String?) throws(RPCError) -> PlannedEnd {
    var violations = Violations()
    request.validate(into: &violations)
    JSONObjectText.object(request.contentStateJson, "contentStateJson", &violations)
    ActivityRules.alert(request.alert, "alert", &violations)
    // A past time means now, because a client may repeat the call after that time.
    let endAtMs = TimeRules.milliseconds(request.endTime, "endTime", &violations).flatMap { $0 > nowMs ? $0 : nil }
    let dismissal = ActivityRules.dismissalMs(
      request.dismissalTime, endMs: endAtMs ?? nowMs, "dismissalTime", &violations)
    try violations.check()
    let change = StateChange(
      contentState: request.contentStateJson.isEmpty ? nil : request.contentStateJson, alert: request.alert,
      priority: .high, end: .init(reason: .requested, dismissal: dismissal), etag: request.etag,
      traceParent: traceParent)
    return PlannedEnd(change: change, endAtMs: endAtMs)
  }
}
