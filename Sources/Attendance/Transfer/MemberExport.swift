import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// Streams everything stored about one member, a page at a time.
///
/// From the audit log it includes entries about the member or the member's attendance. Entries about the member's
/// actions on others belong to those others.
struct MemberExport: Sendable {
  let repository: any AttendanceRepository
  let limits: AttendanceLimits
  let member: Int64

  func run(send: (ExportMemberDataResponse.Entry) async throws -> Void) async throws {
    let found = try await repository.member(member)
    try await send(.member(found))
    try await pages(parts: 1, "sessions") { query in
      query.page(try await repository.sessions(of: member, query)) { [$0.id] }
    } each: {
      try await send(.session($0))
    }
    for device in try await repository.devices(of: member) { try await send(.device(device)) }
    try await pages(parts: 1, "feeds") { query in
      query.page(try await repository.feeds(of: found.id, query)) { [$0.id] }
    } each: {
      try await send(.feed($0))
    }
    try await pages(parts: 2, "attendance") { query in
      query.page(try await repository.attendance(ofMember: member, year: nil, sinceDay: nil, query)) { found in
        [String(found.startMs), String(AttendanceIDs.meeting(found.attendance.meetingId) ?? 0)]
      }
    } each: {
      try await send(.attendance($0.attendance))
      try await audit(of: "\($0.attendance.meetingId)/\(found.id)", send)
    }
    try await audit(of: found.id, send)
  }

  private func audit(
    of subject: String, _ send: (ExportMemberDataResponse.Entry) async throws -> Void
  ) async throws {
    try await pages(parts: 1, "audit \(subject)") { query in
      query.page(try await repository.auditEntries(query, subject: subject)) { [String($0.sequence)] }
    } each: {
      try await send(.auditEntryJson($0.jsonString()))
    }
  }

  private func pages<T>(
    parts: Int, _ name: String, read: (PositionQuery) async throws -> (page: [T], nextPageToken: String),
    each: (T) async throws -> Void
  ) async throws {
    var token = ""
    repeat {
      let query = try PositionQuery(
        user: AttendanceIDs.memberID(member), pageSize: 200, pageToken: token, scope: ["export", name], parts: parts,
        limits: limits)
      let (page, next) = try await read(query)
      for one in page { try await each(one) }
      token = next
    } while !token.isEmpty
  }
}
