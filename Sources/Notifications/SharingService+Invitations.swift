public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension SharingService {
  public func inviteToBucket(
    _ request: InviteToBucketRequest, context: CallContext
  ) async throws -> InviteToBucketResponse {
    let user = try context.requireUser()
    let nowMs = repository.clockMs()
    var violations = Violations()
    request.validate(into: &violations)
    RequestChecks.future(request.shareExpireTime, "shareExpireTime", nowMs: nowMs, &violations)
    InvitationRules.expireTime(request.expireTime, nowMs: nowMs, &violations)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: SharingServiceMethods.inviteToBucket, user: user)
    if let invitation = try await repeated(Invitation.self, idempotency, violations) {
      return .init(invitation: invitation)
    }
    let terms = InvitationTerms(
      bucketID: request.bucketId, userID: request.userId, role: request.role,
      shareExpireTime: request.shareExpireTime, expireTime: request.expireTime)
    return InviteToBucketResponse(invitation: try await repository.invite(terms, by: user, idempotency: idempotency))
  }

  public func listBucketInvitations(
    _ request: ListBucketInvitationsRequest, context: CallContext
  ) async throws -> ListBucketInvitationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["bucket-invitations", request.bucketId], parts: 1, limits: notifications.limits)
    let (invitations, nextPageToken) = query.page(
      try await repository.invitations(of: request.bucketId, query)
    ) { [$0.userId] }
    return ListBucketInvitationsResponse(invitations: invitations, nextPageToken: nextPageToken)
  }

  public func cancelInvitation(
    _ request: CancelInvitationRequest, context: CallContext
  ) async throws -> CancelInvitationResponse {
    try await repository.cancelInvitation(
      request.invitationId, of: request.bucketId, by: try context.requireUser())
    return CancelInvitationResponse()
  }

  public func listInvitations(
    _ request: ListInvitationsRequest, context: CallContext
  ) async throws -> ListInvitationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["invitations"], parts: 1, limits: notifications.limits)
    let (invitations, nextPageToken) = query.page(try await repository.receivedInvitations(query)) { [$0.id] }
    return ListInvitationsResponse(invitations: invitations, nextPageToken: nextPageToken)
  }

  public func acceptInvitation(
    _ request: AcceptInvitationRequest, context: CallContext
  ) async throws -> AcceptInvitationResponse {
    AcceptInvitationResponse(
      bucket: try await repository.acceptInvitation(request.invitationId, by: try context.requireUser()))
  }

  public func declineInvitation(
    _ request: DeclineInvitationRequest, context: CallContext
  ) async throws -> DeclineInvitationResponse {
    try await repository.declineInvitation(request.invitationId, by: try context.requireUser())
    return DeclineInvitationResponse()
  }

  public func blockUser(_ request: BlockUserRequest, context: CallContext) async throws -> BlockUserResponse {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    if request.userId == user { violations.add("userId", "must be another user", .outOfRange) }
    try violations.check()
    try await repository.block(request.userId, by: user)
    return BlockUserResponse()
  }

  public func unblockUser(_ request: UnblockUserRequest, context: CallContext) async throws -> UnblockUserResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    try await repository.unblock(request.userId, by: user)
    return UnblockUserResponse()
  }

  public func listBlockedUsers(
    _ request: ListBlockedUsersRequest, context: CallContext
  ) async throws -> ListBlockedUsersResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["blocked-users"], parts: 1, limits: notifications.limits)
    let (blockedUsers, nextPageToken) = query.page(try await repository.blockedUsers(query)) { [$0.userId] }
    return ListBlockedUsersResponse(blockedUsers: blockedUsers, nextPageToken: nextPageToken)
  }
}
