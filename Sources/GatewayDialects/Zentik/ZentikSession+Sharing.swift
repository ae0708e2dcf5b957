import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

// Sharing. A grant to a user who is not a member is an invitation, which the user accepts with AcceptInvitation.
extension ZentikSession {
  func share(
    _ action: ZentikSharing.Action, body: [UInt8], _ calls: InnerCalls
  ) async throws(RPCError) -> DialectAnswer {
    switch action {
    case .grant: return try await grant(JSONFields(body), calls)
    case .revoke: return try await revoke(JSONFields(body), calls)
    case .listPermissions: return try await permissions(calls)
    case .createCode: return try await createCode(JSONFields(body), calls)
    case .listCodes: return try await codes(calls)
    case .redeemCode: return try await redeem(JSONFields(body), calls)
    case .deleteCode(let id): return try await deleteCode(id, calls)
    }
  }

  private func bucket(_ fields: JSONFields) throws(RPCError) -> String {
    try ZentikSharing.bucket(type: fields.string("resourceType"), id: fields.string("resourceId"))
  }

  private func queriedBucket() throws(RPCError) -> String {
    let query = try QueryText(query)
    return try ZentikSharing.bucket(type: query["resourceType"], id: query["resourceId"])
  }

  /// Returns the first of the app's three user identifiers that is set. Each is used as the user's id.
  private func user(_ fields: JSONFields) throws(RPCError) -> String {
    for name in ["userId", "userEmail", "username"] {
      if let text = try fields.string(name), !text.isEmpty { return text }
    }
    throw RPCError.invalidField(
      "userId", "At least one of userId, userEmail, or username must be provided", reason: "userIdentifierRequired")
  }

  private func role(_ fields: JSONFields) throws(RPCError) -> BucketRole {
    try ZentikSharing.role(fields.strings("permissions", max: ZentikSharing.permissionsMax) ?? [])
  }

  private func grant(_ fields: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = ShareBucketRequest(
      bucketId: try bucket(fields), userId: try user(fields), role: try role(fields),
      expireTime: try ZentikSharing.time(fields, "expiresAt"))
    let response: ShareBucketResponse = try await call(SharingServiceMethods.shareBucket, request, calls)
    let share = response.share ?? response.invitation.map(ZentikSharing.share) ?? BucketShare()
    return DialectAnswer(
      201, ZentikSharing.permission(share, of: request.bucketId, isPending: response.share == nil))
  }

  /// Ends a share, or cancels the invitation of a user who has not accepted.
  private func revoke(_ fields: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = UnshareBucketRequest(bucketId: try bucket(fields), userId: try user(fields))
    do throws(RPCError) {
      let _: UnshareBucketResponse = try await call(SharingServiceMethods.unshareBucket, request, calls)
    } catch {
      guard error.reason == "SHARE_NOT_FOUND",
        let pending = try await pending(request.bucketId, calls).first(where: { $0.userId == request.userId })
      else { throw error }
      let cancel = CancelInvitationRequest(bucketId: request.bucketId, invitationId: pending.id)
      let _: CancelInvitationResponse = try await call(SharingServiceMethods.cancelInvitation, cancel, calls)
    }
    return DialectAnswer(200, .object(["message": .string("Permissions revoked successfully")]))
  }

  private func pending(_ bucket: String, _ calls: InnerCalls) async throws(RPCError) -> [Invitation] {
    // A bucket has at most 100 pending invitations, and its owner 1,000 in total: one page.
    let request = ListBucketInvitationsRequest(bucketId: bucket, pageSize: 1000)
    let page: ListBucketInvitationsResponse = try await call(
      SharingServiceMethods.listBucketInvitations, request, calls)
    return page.invitations.filter { $0.state == .pending }
  }

  private func permissions(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let bucket = try queriedBucket()
    // A bucket has at most 100 shares: one page.
    let request = ListBucketSharesRequest(bucketId: bucket, pageSize: 1000)
    let response: ListBucketSharesResponse = try await call(SharingServiceMethods.listBucketShares, request, calls)
    let pending = try await pending(bucket, calls)
    return DialectAnswer(
      200,
      .array(
        response.shares.map { ZentikSharing.permission($0, of: bucket, isPending: false) }
          + pending.map { ZentikSharing.permission(ZentikSharing.share($0), of: bucket, isPending: true) }))
  }

  // MARK: invite codes

  private func createCode(_ fields: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    var request = CreateInviteCodeRequest(bucketId: try bucket(fields), role: try role(fields))
    if let uses = try fields.integer("maxUses") {
      guard (1...Int64(Int32.max)).contains(uses) else {
        throw RPCError.invalidField("maxUses", "maxUses must not be less than 1", reason: "min")
      }
      request.maxUses = Int32(uses)
    }
    request.expireTime = try ZentikSharing.time(fields, "expiresAt")
    let made: CreateInviteCodeResponse = try await call(SharingServiceMethods.createInviteCode, request, calls)
    return DialectAnswer(201, ZentikSharing.code(made.code ?? InviteCode(), secret: made.secret))
  }

  private func codes(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    // A bucket has at most 100 invite codes: one page.
    let request = ListInviteCodesRequest(bucketId: try queriedBucket(), pageSize: 1000)
    let response: ListInviteCodesResponse = try await call(SharingServiceMethods.listInviteCodes, request, calls)
    return DialectAnswer(200, .array(response.codes.map { ZentikSharing.code($0, secret: nil) }))
  }

  private func deleteCode(_ id: String, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw RPCError(.notFound, "Invite code not found", reason: "INVITE_CODE_NOT_FOUND")
    }
    let request = RevokeInviteCodeRequest(bucketId: String(parts[0]), codeId: String(parts[1]))
    let _: RevokeInviteCodeResponse = try await call(SharingServiceMethods.revokeInviteCode, request, calls)
    return DialectAnswer(200, .object([:]))
  }

  /// Redeems an invite code. The app reads the result from the body, not from the status.
  private func redeem(_ fields: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = AcceptInviteCodeRequest(secret: try fields.required("code", try fields.string("code")))
    let response: AcceptInviteCodeResponse
    do throws(RPCError) {
      response = try await call(SharingServiceMethods.acceptInviteCode, request, calls)
    } catch {
      guard error.reason == "INVITE_CODE_INVALID" else { throw error }
      return DialectAnswer(
        201, .object(["success": .bool(false), "error": .string("Invalid invite code")]))
    }
    let bucket = response.bucket ?? Bucket()
    return DialectAnswer(
      201,
      .object([
        "success": .bool(true), "resourceType": .string("BUCKET"), "resourceId": .string(bucket.id),
        "permissions": ZentikSharing.permissions(bucket.role),
      ]))
  }
}
