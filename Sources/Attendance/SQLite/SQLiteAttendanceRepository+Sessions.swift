import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  static let sessionPrefix: StaticString = "s_"
  static let userSQL = "SELECT number, role FROM members WHERE user_id = $1 AND is_active = 1"
  static let loginSQL = """
    SELECT m.number, m.is_active, p.hash FROM members AS m LEFT JOIN pins AS p ON p.member_no = m.number
    WHERE m.name_key = $1
    """

  func caller(sessionHash: [UInt8], address: String) async throws -> AttendanceCaller {
    let nowMs = clockMs()
    let found = try await readSingle { transaction in
      try transaction.queryOne(SessionTable.callerSQL, [.blob(sessionHash)]) { row in
        let number = try row.integer(0)
        let caller = AttendanceCaller(
          name: AttendanceIDs.memberID(number),
          role: MemberRole(rawValue: Int32(truncatingIfNeeded: try row.integer(2))), memberNumber: number,
          address: address, sessionHash: sessionHash)
        return (caller: caller, expiresAtMs: try row.integer(1), isActive: try row.bool(3))
      }
    }
    guard let found, found.isActive else { throw Self.sessionInvalid }
    guard nowMs < found.expiresAtMs else {
      throw RPCError(.unauthenticated, "the session has expired", .sessionExpired)
    }
    return found.caller
  }

  static var sessionInvalid: RPCError {
    RPCError(.unauthenticated, "the session does not exist", .sessionInvalid)
  }

  func caller(user: String, address: String) async throws -> AttendanceCaller? {
    try await readSingle { transaction in
      try transaction.queryOne(Self.userSQL, [.text(user)]) { row in
        let number = try row.integer(0)
        return AttendanceCaller(
          name: AttendanceIDs.memberID(number),
          role: MemberRole(rawValue: Int32(truncatingIfNeeded: try row.integer(1))), memberNumber: number,
          address: address)
      }
    }
  }

  func loginMember(nameKey: String) async throws -> LoginMember? {
    try await readSingle { transaction in
      try transaction.queryOne(Self.loginSQL, [.text(nameKey)]) { row in
        LoginMember(number: try row.integer(0), isActive: try row.bool(1), pinHash: try row.textIfPresent(2))
      }
    }
  }

  func pinHash(of member: Int64) async throws -> String? {
    try await readSingle { try $0.queryOne(SessionTable.pinSQL, [.integer(member)]) { try $0.text(0) } }
  }

  func openSession(
    _ grant: LoginGrant, lifetime: SessionLifetime
  ) async throws -> (member: Member, session: MemberSession) {
    let (member, address) = (grant.member, grant.address)
    let caller = AttendanceCaller(
      name: AttendanceIDs.memberID(member), role: .member, memberNumber: member, address: address)
    return try await change(by: caller) { context in
      let found = try context.member(member, field: "name")
      // Both may have changed while the PIN was checked.
      guard found.active, try context.pinHash(of: member) == grant.pinHash else {
        throw SessionsService.credentialsInvalid
      }
      if let device = grant.device {
        try grant.isKnownDevice ? context.renew(device) : context.add(device, of: member)
        try context.loginSucceeded(grant.subject, isCounted: !grant.isKnownDevice)
      }
      try context.attemptSucceeded(grant.subject, from: grant.origin)
      let id = ids.next(prefix: Self.sessionPrefix).id
      let endMs = context.nowMs + lifetime.absoluteMs
      let expireMs = min(context.nowMs + lifetime.idleMs, endMs)
      try context.transaction.execute(
        SessionTable.insertSQL,
        [
          .blob(grant.sessionHash), .text(id), .integer(member), .integer(context.nowMs), .integer(expireMs),
          .integer(endMs), .text(address),
        ])
      try context.transaction.execute(
        SessionTable.surplusSQL, [.integer(member), .int(limits.sessionsPerMemberMax)])
      let session = MemberSession(
        id: id, memberId: found.id, createTime: context.nowTime,
        expireTime: ProtoTimestamp(millisecondsSince1970: expireMs),
        endTime: ProtoTimestamp(millisecondsSince1970: endMs), address: address)
      return (found, session)
    }
  }

  /// The minimum time between two renewals that are written, so that a polling device causes few writes.
  static let renewalMs: Int64 = 60_000

  func renewSession(_ tokenHash: [UInt8], lifetime: SessionLifetime) async throws -> MemberSession {
    let found = try await readSingle { transaction in
      try transaction.queryOne(SessionTable.oneSQL, [.blob(tokenHash)], SessionTable.session)
    }
    guard var session = found, let endMs = session.endTime?.millisecondsSince1970,
      let expireMs = session.expireTime?.millisecondsSince1970
    else { throw Self.sessionInvalid }
    let renewedMs = min(clockMs() + lifetime.idleMs, endMs)
    guard renewedMs - expireMs >= min(Self.renewalMs, max(1, endMs - expireMs)) else { return session }
    let count = try await storeWrite {
      try $0.executeCounting(SessionTable.renewSQL, [.blob(tokenHash), .integer(renewedMs)])
    }
    guard count > 0 else { throw Self.sessionInvalid }
    session.expireTime = ProtoTimestamp(millisecondsSince1970: renewedMs)
    return session
  }

  func endSession(_ tokenHash: [UInt8]) async throws {
    try await storeWrite { try $0.execute(SessionTable.logoutSQL, [.blob(tokenHash)]) }
  }

  func sessions(of member: Int64, _ query: PositionQuery) async throws -> [MemberSession] {
    try await readSingle { transaction in
      try transaction.query(
        SessionTable.ofMemberSQL,
        [.integer(member), .text(query.position.first ?? SessionTable.afterAllIDs), .int(query.pageSize + 1)],
        SessionTable.session)
    }
  }

  func revokeSessions(
    of member: Int64, by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> RevokeSessionsResponse {
    try await change(by: caller, idempotency) { context in
      let found = try context.member(member, field: "memberId")
      let count = try context.endSessions(of: member)
      if count > 0 { try context.audit("sessions.revoke", found.id, old: nil, new: nil) }
      return RevokeSessionsResponse(revokedCount: Int32(clamping: count))
    }
  }
}
