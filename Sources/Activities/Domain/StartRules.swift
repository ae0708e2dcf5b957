import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Validation of starts beyond the constraints of the contract: by callers, timers, rooms and unread summaries.
enum StartRules {
  /// The fields common to all starts.
  struct Common: Sendable {
    var id: String
    var app: String
    var environment: String
    var origin: ActivityOrigin
    var attributesType: String
    /// The JSON of an object; empty if none is given.
    var attributes: String
    var alert: Alert?
    var installationID: String
    var staleTime: ProtoTimestamp?
    var relevanceScore: Double?
    var renews = false
  }

  /// Validates a request.
  ///
  /// - Throws: INVALID_ARGUMENT naming every invalid field; FAILED_PRECONDITION, reason `SIGNING_KEY_MISSING`.
  static func draft(
    _ request: StartActivityRequest, context: CallContext, policy: ActivitiesPolicy, nowMs: Int64
  ) throws(RPCError) -> ActivityDraft {
    var violations = Violations()
    let common = Common(
      id: request.activityId, app: request.app, environment: request.environment, origin: request.origin,
      attributesType: request.attributesType, attributes: request.attributesJson, alert: request.alert,
      installationID: request.installationId, staleTime: request.staleTime, relevanceScore: request.relevanceScore,
      renews: request.renews)
    request.validate(into: &violations)
    JSONObjectText.object(request.contentStateJson, "contentStateJson", &violations)
    check(common, policy, &violations)
    RequestChecks.future(request.startTime, "startTime", nowMs: nowMs, &violations)
    RequestChecks.future(request.endTime, "endTime", nowMs: nowMs, &violations)
    let startMs = request.startTime?.millisecondsSince1970
    let endMs = request.endTime?.millisecondsSince1970
    if let endMs, violations.isEmpty {
      let begin = startMs ?? nowMs
      if endMs <= begin {
        violations.add("endTime", "must be after startTime", .timeRangeEmpty)
      } else if endMs - begin > SQLiteActivitiesRepository.lifetimeMs, !request.renews {
        violations.add("endTime", "must be within 8 h of the start", .outOfRange)
      }
    }
    try violations.check()
    var draft = try draft(common, content: request.contentStateJson, context: context, policy: policy)
    (draft.startAtMs, draft.endAtMs) = (startMs, endMs)
    draft.channelID = request.channelId
    draft.groupID = request.groupId
    return draft
  }

  /// Validates the fields of all starts. A remote start also needs the content of its push.
  static func check(_ common: Common, _ policy: ActivitiesPolicy, _ violations: inout Violations) {
    ActivityRules.app(common.app, "app", &violations)
    ActivityRules.environment(common.environment, "environment", policy, &violations)
    JSONObjectText.object(common.attributes, "attributesJson", &violations)
    ActivityRules.alert(common.alert, "alert", &violations)
    _ = TimeRules.milliseconds(common.staleTime, "staleTime", &violations)
    guard common.origin == .remote || common.renews else { return }
    let why = common.origin == .remote ? "a remote start" : "a renewal"
    if common.attributesType.isEmpty { violations.add("attributesType", "is required for \(why)", .required) }
    if common.attributes.isEmpty { violations.add("attributesJson", "is required for \(why)", .required) }
    if common.alert == nil { violations.add("alert", "is required for \(why)", .required) }
  }

  /// Creates a draft from validated fields. Throws FAILED_PRECONDITION, reason `SIGNING_KEY_MISSING`.
  static func draft(
    _ common: Common, content: String, context: CallContext, policy: ActivitiesPolicy
  ) throws(RPCError) -> ActivityDraft {
    guard policy.canSign(common.app, common.environment) else {
      throw .refused(
        "app", "has no signing key in \(common.environment): add one with its topic", .signingKeyMissing)
    }
    var draft = ActivityDraft(
      id: common.id, app: common.app, environment: common.environment, origin: common.origin, contentState: content)
    draft.start = StartContent(
      attributesType: common.attributesType, attributes: common.attributes.isEmpty ? nil : common.attributes,
      alert: common.alert, installationID: common.installationID)
    var unused = Violations()
    draft.staleMs = TimeRules.milliseconds(common.staleTime, "staleTime", &unused)
    draft.relevanceScore = common.relevanceScore
    draft.renews = common.renews
    draft.traceParent = context.traceParent
    return draft
  }
}
