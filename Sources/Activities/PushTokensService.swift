public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.PushTokensService`.
///
/// Every object belongs to the calling user. Responses contain redacted tokens, except that of `getActivityPushToken`.
public struct PushTokensService: PushTokensServiceProtocol {
  let repository: any PushTokensRepository
  let limits: ActivitiesLimits
  let policy: ActivitiesPolicy

  public func registerPushToken(
    _ request: RegisterPushTokenRequest, context: CallContext
  ) async throws -> RegisterPushTokenResponse {
    let user = try context.requireUser()
    var draft = try TokenDraft(request, policy: policy)
    draft.traceParent = context.traceParent
    let (token, isSuperseded) = try await repository.register(draft, user: user)
    return RegisterPushTokenResponse(token: token, superseded: isSuperseded)
  }

  public func updateInstallation(
    _ request: UpdateInstallationRequest, context: CallContext
  ) async throws -> UpdateInstallationResponse {
    let installation = InstallationKey(
      user: try context.requireUser(), app: request.app, id: request.installationId)
    let count = try await repository.update(installation, try InstallationValues(request))
    return UpdateInstallationResponse(tokenCount: Int32(clamping: count))
  }

  public func getActivityPushToken(
    _ request: GetActivityPushTokenRequest, context: CallContext
  ) async throws -> GetActivityPushTokenResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    return GetActivityPushTokenResponse(
      token: try await repository.updateToken(
        ofActivity: request.activityId, installationID: request.installationId, user: user))
  }

  public func getPushToken(
    _ request: GetPushTokenRequest, context: CallContext
  ) async throws -> GetPushTokenResponse {
    GetPushTokenResponse(token: try await repository.token(request.tokenId, user: try context.requireUser()))
  }

  public func listPushTokens(
    _ request: ListPushTokensRequest, context: CallContext
  ) async throws -> ListPushTokensResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["push-tokens", request.includeRetired ? "all" : "live"], parts: 1, limits: limits)
    let (tokens, nextPageToken) = query.page(
      try await repository.tokens(query, includeRetired: request.includeRetired)
    ) { [$0.id] }
    return ListPushTokensResponse(tokens: tokens, nextPageToken: nextPageToken)
  }

  public func deletePushToken(
    _ request: DeletePushTokenRequest, context: CallContext
  ) async throws -> DeletePushTokenResponse {
    try await repository.deleteToken(request.tokenId, user: try context.requireUser())
    return DeletePushTokenResponse()
  }
}
