public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.ActivityGroupsService`: changes of the activities of many users. For operators.
public struct ActivityGroupsService: ActivityGroupsServiceProtocol {
  let repository: any ActivitiesRepository
  let limits: ActivitiesLimits

  public func updateActivityGroup(
    _ request: UpdateActivityGroupRequest, context: CallContext
  ) async throws -> UpdateActivityGroupResponse {
    try context.requireOperator()
    try Self.check(request, app: request.app)
    let query = try GroupQuery(
      app: request.app, groupID: request.groupId, pageSize: request.pageSize, pageToken: request.pageToken,
      limits: limits)
    // The rules of a single update apply; its fields have the same names.
    let single = UpdateActivityRequest(
      activityId: request.groupId, contentStateJson: request.contentStateJson, alert: request.alert,
      staleTime: request.staleTime, relevanceScore: request.relevanceScore, urgency: request.urgency)
    let change = try UpdateRules.change(single, traceParent: context.traceParent)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivityGroupsServiceMethods.updateActivityGroup, user: context.operatorName)
    return try await repository.updateGroup(query, change, idempotency: idempotency)
  }

  public func endActivityGroup(
    _ request: EndActivityGroupRequest, context: CallContext
  ) async throws -> EndActivityGroupResponse {
    try context.requireOperator()
    try Self.check(request, app: request.app)
    let query = try GroupQuery(
      app: request.app, groupID: request.groupId, pageSize: request.pageSize, pageToken: "", limits: limits)
    let single = EndActivityRequest(
      activityId: request.groupId, contentStateJson: request.contentStateJson, dismissalTime: request.dismissalTime,
      alert: request.alert)
    let end = try UpdateRules.end(single, nowMs: repository.clockMs(), traceParent: context.traceParent)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivityGroupsServiceMethods.endActivityGroup, user: context.operatorName)
    return try await repository.endGroup(query, end.change, idempotency: idempotency)
  }

  private static func check(_ request: some ValidatedMessage, app: String) throws(RPCError) {
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(app, "app", &violations)
    try violations.check()
  }
}
