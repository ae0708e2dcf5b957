public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.SessionsService`.
public struct SessionsService: SessionsServiceProtocol {
  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits
  let lifetime: SessionLifetime
  let gate: LoginGate

  /// The common error for an unknown name, a wrong PIN, and a member who may not log in.
  static var credentialsInvalid: RPCError {
    RPCError(.unauthenticated, "name or PIN is wrong", .credentialsInvalid)
  }

  public func login(_ request: LoginRequest, context: CallContext) async throws -> LoginResponse {
    try request.checkConstraints()
    let key = MemberRules.key(of: request.name)
    let member = try await repository.loginMember(nameKey: key)
    let attempt = try await attempt(
      LoginSubject(nameKey: key, member: member?.number), deviceToken: request.deviceToken, context)
    let isNameOnly = lifetime.allowsNameOnly && request.pin.isEmpty && member != nil && member?.pinHash == nil
    let needsDeviceOnly = request.pin.isEmpty && attempt.device != nil && member?.pinHash != nil
    let isDeviceOnly = needsDeviceOnly ? try await repository.lodgeSettings().deviceLogin : false
    if isNameOnly || isDeviceOnly {
      try await gate.begin(attempt, checksPIN: false)
    } else if try await !gate.judge(request.pin, member?.pinHash, attempt) {
      throw Self.credentialsInvalid
    }
    guard let member, member.isActive else {
      gate.rejected()
      throw Self.credentialsInvalid
    }
    let (token, hash) = try SessionToken.random()
    let device = try attempt.device.map { (request.deviceToken, $0) } ?? (isNameOnly ? nil : LoginDeviceToken.random())
    let grant = LoginGrant(
      subject: attempt.subject, origin: attempt.origin, member: member.number, pinHash: member.pinHash,
      sessionHash: hash, device: device?.1,
      isKnownDevice: attempt.device != nil, address: attempt.address)
    let (found, session) = try await repository.openSession(grant, lifetime: lifetime)
    return LoginResponse(sessionToken: token, member: found, session: session, deviceToken: device?.0 ?? "")
  }

  public func getCurrentMember(
    _ request: GetCurrentMemberRequest, context: CallContext
  ) async throws -> GetCurrentMemberResponse {
    let caller = try await access.caller(context, .member)
    var response = GetCurrentMemberResponse()
    if let hash = caller.sessionHash {
      response.session = try await repository.renewSession(hash, lifetime: lifetime)
    }
    response.member = try await repository.member(try caller.requireMember())
    return response
  }

  public func logout(_ request: LogoutRequest, context: CallContext) async throws -> LogoutResponse {
    let caller = try await access.caller(context)
    if let hash = caller.sessionHash { try await repository.endSession(hash) }
    return LogoutResponse()
  }

  public func listSessions(_ request: ListSessionsRequest, context: CallContext) async throws -> ListSessionsResponse {
    let caller = try await access.caller(context, .member)
    let number = try member(request.memberId, for: caller)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["sessions", String(number)],
      parts: 1, limits: limits)
    let (sessions, nextPageToken) = query.page(try await repository.sessions(of: number, query)) { [$0.id] }
    return ListSessionsResponse(sessions: sessions, nextPageToken: nextPageToken)
  }

  public func revokeSessions(
    _ request: RevokeSessionsRequest, context: CallContext
  ) async throws -> RevokeSessionsResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: SessionsServiceMethods.revokeSessions, user: caller.name)
    return try await repository.revokeSessions(
      of: try member(request.memberId, for: caller), by: caller, idempotency: idempotency)
  }

  public func changePin(_ request: ChangePinRequest, context: CallContext) async throws -> ChangePinResponse {
    let caller = try await access.caller(context, .member)
    let number = try caller.requireMember()
    try request.checkConstraints()
    var attempt = try await attempt(LoginSubject(member: number), deviceToken: request.deviceToken, context)
    attempt.hasSession = true
    // Derive the new hash first: if no slot is free for it, the old PIN must not count as a failed attempt.
    let hash = try await gate.hasher.hash(request.newPin, by: caller)
    let oldHash = try await repository.pinHash(of: number)
    guard try await gate.judge(request.oldPin, oldHash, attempt) else {
      throw Self.credentialsInvalid
    }
    try await repository.changePin(from: oldHash, to: hash, number, attempt, by: caller)
    return ChangePinResponse()
  }

  /// Returns an attempt to prove the PIN of `subject`. Its origin is the device if the token is valid for the member,
  /// otherwise the address group. If the address is not the device's own, the origin is the calling program.
  private func attempt(_ subject: LoginSubject, deviceToken: String, _ context: CallContext) async throws -> PinAttempt
  {
    let address = AccessControl.address(context)
    var origin = LoginOrigin.address(AddressGroup.name(of: address))
    if !AccessControl.isOwnAddress(context), let principal = context.principal { origin = .principal(principal.name) }
    if let hash = try LoginDeviceToken.hash(deviceToken), let owner = try await repository.deviceMember(hash),
      owner == subject.member
    {
      origin = .device(hash)
    }
    return PinAttempt(subject: subject, origin: origin, address: address)
  }

  /// Returns the member whose sessions are requested: the caller, or for admins the member with `id`.
  private func member(_ id: String, for caller: AttendanceCaller) throws(RPCError) -> Int64 {
    if id.isEmpty { return try caller.requireMember() }
    let number = try FieldIDs.member(id)
    try caller.require(.admin, orMember: number)
    return number
  }
}
