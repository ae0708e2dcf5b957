public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension SharingService {
  static let inviteCodePrefix = "cic_"

  public func createInviteCode(
    _ request: CreateInviteCodeRequest, context: CallContext
  ) async throws -> CreateInviteCodeResponse {
    let user = try context.requireUser()
    let usesMax = notifications.limits.sharesPerBucketMax
    var violations = Violations()
    request.validate(into: &violations)
    if request.maxUses > usesMax {
      violations.add("maxUses", "must be 0 to \(usesMax)", .outOfRange)
    }
    InvitationRules.expireTime(request.expireTime, nowMs: repository.clockMs(), &violations)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: SharingServiceMethods.createInviteCode, user: user)
    if let code = try await repeated(InviteCode.self, idempotency, violations) { return .init(code: code) }
    let (secret, hash) = try Self.makeSecret(Self.inviteCodePrefix)
    let draft = InviteCode(
      bucketId: request.bucketId, role: request.role, maxUses: request.maxUses, expireTime: request.expireTime,
      hint: String(secret.prefix(8)))
    let (code, isRepeated) = try await repository.createInviteCode(
      draft, secretHash: hash, by: user, idempotency: idempotency)
    return CreateInviteCodeResponse(code: code, secret: isRepeated ? "" : secret)
  }

  public func listInviteCodes(
    _ request: ListInviteCodesRequest, context: CallContext
  ) async throws -> ListInviteCodesResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["invite-codes", request.bucketId], parts: 1, limits: notifications.limits)
    let (codes, nextPageToken) = query.page(try await repository.inviteCodes(of: request.bucketId, query)) { [$0.id] }
    return ListInviteCodesResponse(codes: codes, nextPageToken: nextPageToken)
  }

  public func revokeInviteCode(
    _ request: RevokeInviteCodeRequest, context: CallContext
  ) async throws -> RevokeInviteCodeResponse {
    try await repository.revokeInviteCode(request.codeId, of: request.bucketId, by: try context.requireUser())
    return RevokeInviteCodeResponse()
  }

  public func acceptInviteCode(
    _ request: AcceptInviteCodeRequest, context: CallContext
  ) async throws -> AcceptInviteCodeResponse {
    let user = try context.requireUser()
    return AcceptInviteCodeResponse(
      bucket: try await repository.acceptInviteCode(secretHash: try Self.hash(request.secret), by: user))
  }
}
