public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func invokeAction(
    _ request: InvokeActionRequest, context: CallContext
  ) async throws -> InvokeActionResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: NotificationsServiceMethods.invokeAction, user: user)
    return InvokeActionResponse(
      run: try await actions.invoke(
        request.notificationId, actionID: request.actionId, user: user, idempotency: idempotency))
  }

  public func listActionRuns(
    _ request: ListActionRunsRequest, context: CallContext
  ) async throws -> ListActionRunsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["action-runs", request.notificationId], parts: 1, limits: limits)
    let found = try await repository.runs(
      query, of: request.notificationId.isEmpty ? nil : request.notificationId)
    let (runs, nextPageToken) = query.page(found) { [$0.id] }
    return ListActionRunsResponse(runs: runs, nextPageToken: nextPageToken)
  }
}
