import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

// Attendance (presenze).
extension KilwinningSession {
  func presences(_ id: Int64, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let found: [Attendance] = try await pages { (token) async throws(RPCError) in
      let request = ListMemberAttendanceRequest(memberId: "m_\(id)", year: query.year, pageSize: 1000, pageToken: token)
      let page: ListMemberAttendanceResponse = try await call(
        AttendanceServiceMethods.listMemberAttendance, request, calls)
      return (page.attendances, page.nextPageToken)
    }
    return DialectAnswer(200, .array(found.compactMap { KilwinningModels.presence($0, member: id) }))
  }

  func statistics(_ id: Int64, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = GetMemberStatisticsRequest(memberId: "m_\(id)", year: query.year)
    let response: GetMemberStatisticsResponse = try await call(
      StatisticsServiceMethods.getMemberStatistics, request, calls)
    return DialectAnswer(200, KilwinningModels.statistics(response.statistics ?? AttendanceStatistics()))
  }

  func summaries(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let found: [MemberSummary] = try await pages { (token) async throws(RPCError) in
      let request = ListMemberSummariesRequest(year: query.year, pageSize: 1000, pageToken: token)
      let page: ListMemberSummariesResponse = try await call(
        StatisticsServiceMethods.listMemberSummaries, request, calls)
      return (page.summaries, page.nextPageToken)
    }
    return DialectAnswer(200, .array(found.map(KilwinningModels.summary)))
  }

  func confirm(_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let fields = try JSONFields(body)
    let request = ConfirmAttendanceRequest(
      meetingId: "t_\(try fields.required("tornata_id", try fields.integer("tornata_id")))",
      status: try fields.required("presente", try fields.bool("presente")) ? .present : .absent)
    let _: ConfirmAttendanceResponse = try await call(AttendanceServiceMethods.confirmAttendance, request, calls)
    return DialectAnswer(200, .object(["success": .bool(true)]))
  }
}
