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

  /// The maximum size of an exported summary: 20,000 members.
  private static let fileBytesMax = 8 << 20

  /// Returns the summary as a file that Excel opens in Italy, unless the query asks for another form.
  func summariesFile(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = ExportCsvRequest(
      table: .summary, year: query.year, language: query.language, separator: query.separator,
      byteOrderMark: query.hasByteOrderMark)
    let chunks: [ExportCsvResponse] = try await calls.collect(
      LodgeServiceMethods.exportCsv, request, as: caller.identity, bytesMax: Self.fileBytesMax)
    let year = query.year == 0 ? "tutti" : String(query.year)
    return DialectAnswer(
      file: chunks.flatMap { Array($0.chunk.utf8) }, contentType: "text/csv; charset=utf-8; header=present",
      name: "riepilogo-\(year).csv")
  }

  /// Records the caller's own presence.
  ///
  /// - Parameter body: The app's object, and optionally `confirmed_at`, the time of the tap of a change that waited on
  ///   an offline device.
  func confirm(_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let fields = try JSONFields(body)
    var request = ConfirmAttendanceRequest(
      meetingId: "t_\(try fields.required("tornata_id", try fields.integer("tornata_id")))",
      status: try fields.required("presente", try fields.bool("presente")) ? .present : .absent)
    if let text = try fields.string("confirmed_at") {
      guard let time = DialectTimes.time(text) else {
        throw RPCError.invalidField("confirmed_at", "it must be an instant such as 2025-11-25T18:30:00Z")
      }
      request.eventTime = time
    }
    do throws(RPCError) {
      let _: ConfirmAttendanceResponse = try await call(AttendanceServiceMethods.confirmAttendance, request, calls)
    } catch {
      // The app has a switch on cancelled meetings too, and would replace its list by a network error.
      guard error.reason == "MEETING_CANCELLED" else { throw error }
      return DialectAnswer(
        200,
        .object([
          "success": .bool(false), "message": .string("La tornata è annullata: la presenza non viene registrata."),
        ]))
    }
    return DialectAnswer(200, .object(["success": .bool(true)]))
  }
}
