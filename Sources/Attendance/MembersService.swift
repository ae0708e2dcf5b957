public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.MembersService`.
public struct MembersService: MembersServiceProtocol {
  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits
  let hasher: PinHasher

  public func createMember(_ request: CreateMemberRequest, context: CallContext) async throws -> CreateMemberResponse {
    let caller = try await access.caller(context, .admin)
    var violations = Violations()
    request.validate(into: &violations)
    let draft = request.member ?? Member()
    MemberRules.check(draft, "member", &violations)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: MembersServiceMethods.createMember, user: caller.name)
    return CreateMemberResponse(member: try await repository.createMember(draft, by: caller, idempotency: idempotency))
  }

  public func getMember(_ request: GetMemberRequest, context: CallContext) async throws -> GetMemberResponse {
    let caller = try await access.caller(context, .member)
    return GetMemberResponse(member: try await repository.member(FieldIDs.member(request.memberId)).seen(by: caller))
  }

  public func listMembers(_ request: ListMembersRequest, context: CallContext) async throws -> ListMembersResponse {
    let caller = try await access.caller(context, .member)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["members", request.includeInactive ? "all" : "active"], parts: 1, limits: limits)
    let present = try await repository.presentPosition(of: caller)
    let found = try await repository.members(query, includesInactive: request.includeInactive)
    let (members, nextPageToken) = query.page(found) { [MemberRules.key(of: $0.name)] }
    return ListMembersResponse(
      members: members.map { $0.seen(by: caller) }, nextPageToken: nextPageToken,
      resumeToken: present.text(for: caller))
  }

  public func updateMember(_ request: UpdateMemberRequest, context: CallContext) async throws -> UpdateMemberResponse {
    let caller = try await access.caller(context, .member)
    let (draft, fields) = try UpdateMask.change(
      request.member, "member", request.updateMask, MemberRules.check(_:of:_:_:))
    var change = draft
    change.number = try FieldIDs.member(change.id, field: "member.id")
    for field in fields {
      if MemberField.own.contains(field) {
        try caller.require(.admin, orMember: change.number)
      } else {
        try caller.require(MemberField.degrees.contains(field) ? .secretary : .admin)
      }
    }
    if fields.isEmpty { try caller.require(.admin, orMember: change.number) }
    return UpdateMemberResponse(member: try await repository.updateMember(change, fields: fields, by: caller))
  }

  public func deactivateMember(
    _ request: DeactivateMemberRequest, context: CallContext
  ) async throws -> DeactivateMemberResponse {
    let caller = try await access.caller(context, .admin)
    return DeactivateMemberResponse(
      member: try await repository.setActive(FieldIDs.member(request.memberId), false, by: caller))
  }

  public func reactivateMember(
    _ request: ReactivateMemberRequest, context: CallContext
  ) async throws -> ReactivateMemberResponse {
    let caller = try await access.caller(context, .admin)
    return ReactivateMemberResponse(
      member: try await repository.setActive(FieldIDs.member(request.memberId), true, by: caller))
  }

  public func setMemberPin(_ request: SetMemberPinRequest, context: CallContext) async throws -> SetMemberPinResponse {
    let caller = try await access.caller(context, .admin)
    try request.checkConstraints()
    let number = try FieldIDs.member(request.memberId)
    // Fail before the expensive key derivation if there is no such member.
    _ = try await repository.member(number)
    try await repository.setPin(number, hash: try await hasher.hash(request.pin, by: caller), by: caller)
    return SetMemberPinResponse()
  }

  public func removeMemberPin(
    _ request: RemoveMemberPinRequest, context: CallContext
  ) async throws -> RemoveMemberPinResponse {
    let caller = try await access.caller(context, .admin)
    try await repository.setPin(FieldIDs.member(request.memberId), hash: nil, by: caller)
    return RemoveMemberPinResponse()
  }

  public func eraseMember(_ request: EraseMemberRequest, context: CallContext) async throws -> EraseMemberResponse {
    let caller = try await access.caller(context, .admin)
    let (member, redacted) = try await repository.eraseMember(
      FieldIDs.member(request.memberId), confirmedName: request.confirmName, etag: request.etag, by: caller)
    return EraseMemberResponse(member: member, redactedEntryCount: Int32(clamping: redacted))
  }

  public func exportMemberData(
    _ request: ExportMemberDataRequest, context: CallContext, responses: ResponseSink<ExportMemberDataResponse>
  ) async throws {
    let caller = try await access.caller(context, .member)
    let number = try FieldIDs.member(request.memberId)
    try caller.require(.admin, orMember: number)
    try await MemberExport(repository: repository, limits: limits, member: number).run { entry in
      let response = ExportMemberDataResponse(entry: entry)
      try await responses.send(response)
    }
  }
}

/// Conversions of request ids to numbers. A malformed id is NOT_FOUND, like an unknown one.
enum FieldIDs {
  static func member(_ id: String, field: String = "memberId") throws(RPCError) -> Int64 {
    guard let number = AttendanceIDs.member(id) else { throw .memberNotFound(id, field: field) }
    return number
  }

  static func meeting(_ id: String, field: String = "meetingId") throws(RPCError) -> Int64 {
    guard let number = AttendanceIDs.meeting(id) else { throw .meetingNotFound(id, field: field) }
    return number
  }
}
