public import CampanileAPI
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
    InvitationRules.role(request.role, highest: .publisher, &violations)
    if !(0...usesMax).contains(Int(request.maxUses)) {
      violations.add("maxUses", "must be 0 to \(usesMax)", .outOfRange)
    }
    InvitationRules.expireTime(request.expireTime, nowMs: repository.clockMs(), &violations)
    try violations.check()
    let (secret, hash) = try Self.makeSecret(Self.inviteCodePrefix)
    var code = InviteCode()
    code.bucketId = request.bucketId
    code.role = request.role
    code.maxUses = request.maxUses
    code.expireTime = request.expireTime
    code.hint = String(secret.prefix(8))
    var response = CreateInviteCodeResponse()
    response.code = try await repository.createInviteCode(code, secretHash: hash, by: user)
    response.secret = secret
    return response
  }

  public func listInviteCodes(
    _ request: ListInviteCodesRequest, context: CallContext
  ) async throws -> ListInviteCodesResponse {
    var response = ListInviteCodesResponse()
    response.codes = try repository.inviteCodes(of: request.bucketId, by: try context.requireUser())
    return response
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
    var response = AcceptInviteCodeResponse()
    response.bucket = try await repository.acceptInviteCode(secretHash: try Self.hash(request.secret), by: user)
    return response
  }
}
