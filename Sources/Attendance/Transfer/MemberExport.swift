import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// Everything that is kept of one member, a page at a time.
struct MemberExport: Sendable {
  let repository: any AttendanceRepository
  let limits: AttendanceLimits
  let member: Int64

  func run(send: (ExportMemberDataResponse.Entry) async throws -> Void) async throws {
    let found = try repository.member(member)
    try await send(.member(found))
    for session in try repository.sessions(of: member) { try await send(.session(session)) }
    try await pages(parts: 2, "attendance") { query in
      try repository.attendance(ofMember: member, year: nil, query)
    } key: { found in
      [String(found.startMs), String(Numbers.meeting(found.attendance.meetingId) ?? 0)]
    } each: {
      try await send(.attendance($0.attendance))
    }
    try await pages(parts: 1, "audit") { query in
      try repository.auditEntries(query, subject: found.id)
    } key: {
      [String($0.sequence)]
    } each: {
      try await send(.auditEntryJson($0.jsonString()))
    }
  }

  private func pages<T>(
    parts: Int, _ name: String, read: (PositionQuery) throws -> [T], key: (T) -> [String],
    each: (T) async throws -> Void
  ) async throws {
    var token = ""
    repeat {
      let query = try PositionQuery(
        user: Numbers.memberID(member), pageSize: 200, pageToken: token, scope: ["export", name], parts: parts,
        limits: limits)
      let (page, next) = query.page(try read(query), key)
      for one in page { try await each(one) }
      token = next
    } while !token.isEmpty
  }
}
