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
    InvitationRules.role(request.role, highest: .publisher, &violations)
    if request.maxUses > usesMax {
      violations.add("maxUses", "must be 0 to \(usesMax)", .outOfRange)
    }
    InvitationRules.expireTime(request.expireTime, nowMs: repository.clockMs(), &violations)
    try violations.check()
    let (secret, hash) = try Self.makeSecret(Self.inviteCodePrefix)
    let code = InviteCode(
      bucketId: request.bucketId, role: request.role, maxUses: request.maxUses, expireTime: request.expireTime,
      hint: String(secret.prefix(8)))
    return CreateInviteCodeResponse(
      code: try await repository.createInviteCode(code, secretHash: hash, by: user), secret: secret)
  }

  public func listInviteCodes(
    _ request: ListInviteCodesRequest, context: CallContext
  ) async throws -> ListInviteCodesResponse {
    ListInviteCodesResponse(codes: try repository.inviteCodes(of: request.bucketId, by: try context.requireUser()))
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
