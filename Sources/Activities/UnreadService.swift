public import CampanileAPI
import CampanileBase
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
    let id = request.activityId.isEmpty ? repository.newActivityID() : request.activityId
    var attributes = request.attributesJson
    // The app of seed 000 identifies the activity by this attribute. An invalid id is reported below.
    if attributes.isEmpty, id.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) {
      attributes = "{\"id\":\"\(id)\"}"
    }
    let common = StartRules.Common(
      id: id, app: request.app, environment: request.environment, origin: request.origin,
      attributesType: request.attributesType, attributes: attributes, alert: request.alert,
      installationID: request.installationId, staleTime: request.staleTime, relevanceScore: request.relevanceScore,
      renews: request.renews)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: UnreadServiceMethods.startUnreadActivity, user: user)
    let activity = try await repository.start(user: user, idempotency: idempotency) {
      var violations = Violations()
      request.validate(into: &violations)
      StartRules.check(common, policy, &violations)
      ActivityRules.url(request.url, "url", &violations)
      try violations.check()
      // The repository fills in the newest summary.
      var draft = try StartRules.draft(common, content: "{}", context: context, policy: policy)
      draft.driver = .unread(
        UnreadState(
          itemsMax: request.itemsMax == 0 ? UnreadRenderer.itemsMaxDefault : request.itemsMax, url: request.url))
      return draft
    }
    return StartUnreadActivityResponse(activity: activity)
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
    let draft: AlertDraft
    do throws(RPCError) {
      draft = try AlertDraft(request, traceParent: context.traceParent, nowMs: repository.clockMs())
    } catch {
      // The expiration time of a repeated call may have passed meanwhile.
      if try await repository.hasSent(alertID: request.alertId, user: request.userId) { return Self.repeated }
      throw error
    }
    guard let ids = try await repository.send(draft) else { return Self.repeated }
    return SendAlertResponse(apnsIds: ids)
  }

  private static let repeated = SendAlertResponse(repeatedAlert: true)
}
