public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.UnreadService`: activities that show a user's unread notifications, and pushes
/// of single notifications.
public struct UnreadService: UnreadServiceProtocol {
  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  public func startUnreadActivity(
    _ request: StartUnreadActivityRequest, context: CallContext
  ) async throws -> StartUnreadActivityResponse {
    let user = try context.requireUser()
    let common = StartRules.Common(
      id: request.activityId, app: request.app, environment: request.environment, origin: request.origin,
      attributesType: request.attributesType, attributes: request.attributes, alert: request.alert,
      installationID: request.installationId, renews: request.renews)
    var violations = Violations()
    request.validate(into: &violations)
    StartRules.check(common, policy, &violations)
    try violations.check()
    let state = UnreadState(itemsMax: request.itemsMax == 0 ? UnreadRenderer.itemsMaxDefault : request.itemsMax)
    // The repository fills in the newest summary.
    var draft = try StartRules.draft(common, content: ProtoStruct(), context: context, policy: policy)
    draft.driver = .unread(state)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: UnreadServiceMethods.startUnreadActivity, user: user)
    return StartUnreadActivityResponse(
      activity: try await repository.start(draft, user: user, idempotency: idempotency))
  }

  public func putUnreadSummary(
    _ request: PutUnreadSummaryRequest, context: CallContext
  ) async throws -> PutUnreadSummaryResponse {
    try context.requireOperator()
    try request.checkConstraints()
    return try await repository.put(
      request.summary ?? UnreadSummary(), sequence: request.sequence, user: request.userId)
  }

  public func sendAlert(_ request: SendAlertRequest, context: CallContext) async throws -> SendAlertResponse {
    try context.requireOperator()
    let draft = try AlertDraft(request, traceParent: context.traceParent, nowMs: repository.clockMs())
    var response = SendAlertResponse()
    if let ids = try await repository.send(draft) {
      response.apnsIds = ids
    } else {
      response.repeatedAlert = true
    }
    return response
  }
}
