import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

// Meetings (tornate).
extension KilwinningSession {
  /// Returns meetings, newest first.
  ///
  /// The app requests `stato=programmata` for its next meetings. Past meetings that nobody has completed are therefore
  /// omitted; they are in the list of their year.
  func meetings(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    var status = MeetingStatus.unspecified
    if let word = query.status { status = try known(word, KilwinningWords.statuses, "stato") }
    if status == .scheduled {
      let found = try await upcoming(calls).filter { query.year == 0 || $0.year == query.year }
      return DialectAnswer(200, .array(found.reversed().map(KilwinningModels.tornata)))
    }
    let found: [Meeting] = try await pages { (token) async throws(RPCError) in
      let request = ListMeetingsRequest(pageSize: 1000, pageToken: token, year: query.year, status: status)
      let page: ListMeetingsResponse = try await call(MeetingsServiceMethods.listMeetings, request, calls)
      return (page.meetings, page.nextPageToken)
    }
    return DialectAnswer(200, .array(found.map(KilwinningModels.tornata)))
  }

  private func upcoming(_ calls: InnerCalls) async throws(RPCError) -> [Meeting] {
    try await pages { (token) async throws(RPCError) in
      let request = ListUpcomingMeetingsRequest(pageSize: 1000, pageToken: token)
      let page: ListUpcomingMeetingsResponse = try await call(
        MeetingsServiceMethods.listUpcomingMeetings, request, calls)
      return (page.meetings, page.nextPageToken)
    }
  }

  /// Returns the years that have meetings, newest first.
  func years(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let found: [MeetingYear] = try await pages { (token) async throws(RPCError) in
      let request = ListMeetingYearsRequest(pageSize: 1000, pageToken: token)
      let page: ListMeetingYearsResponse = try await call(MeetingsServiceMethods.listMeetingYears, request, calls)
      return (page.years, page.nextPageToken)
    }
    return DialectAnswer(200, .array(found.map(KilwinningModels.year)))
  }

  func createMeeting(_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let fields = try JSONFields(body)
    var meeting = Meeting()
    _ = try read(fields, into: &meeting)
    _ = try fields.required("data", meeting.startTime)
    _ = try fields.required("discussione", try fields.string("discussione"))
    let request = CreateMeetingRequest(meeting: meeting)
    let response: CreateMeetingResponse = try await call(MeetingsServiceMethods.createMeeting, request, calls)
    return DialectAnswer(201, KilwinningModels.tornata(response.meeting ?? Meeting()))
  }

  func updateMeeting(
    _ id: Int64, _ body: [UInt8], _ calls: InnerCalls
  ) async throws(RPCError) -> DialectAnswer {
    var meeting = Meeting()
    let mask = try read(JSONFields(body), into: &meeting)
    meeting.id = "t_\(id)"
    guard !mask.isEmpty else {
      let request = GetMeetingRequest(meetingId: meeting.id)
      let response: GetMeetingResponse = try await call(MeetingsServiceMethods.getMeeting, request, calls)
      return DialectAnswer(200, KilwinningModels.tornata(response.meeting ?? Meeting()))
    }
    let request = UpdateMeetingRequest(meeting: meeting, updateMask: .init(paths: mask))
    let response: UpdateMeetingResponse = try await call(MeetingsServiceMethods.updateMeeting, request, calls)
    return DialectAnswer(200, KilwinningModels.tornata(response.meeting ?? Meeting()))
  }

  /// Reads the fields of a meeting. Returns the paths of the fields that are set.
  private func read(_ fields: JSONFields, into meeting: inout Meeting) throws(RPCError) -> [String] {
    var mask: [String] = []
    if let text = try fields.string("data") {
      guard let time = DialectTimes.time(text) else {
        throw RPCError.invalidField("data", "it must be an instant such as 2025-11-25T18:30:00Z")
      }
      meeting.startTime = time
      mask.append("start_time")
    }
    if let text = try fields.string("discussione") {
      meeting.discussion = text
      mask.append("discussion")
    }
    if let text = try fields.string("location") {
      meeting.location = text
      mask.append("location")
    }
    if let value = try fields.bool("cena") {
      meeting.hasDinner = value
      mask.append("has_dinner")
    }
    if let word = try fields.string("tipo") {
      meeting.type = try known(word, KilwinningWords.types, "tipo")
      mask.append("type")
    }
    if let word = try fields.string("stato") {
      meeting.status = try known(word, KilwinningWords.statuses, "stato")
      mask.append("status")
    }
    return mask
  }

  /// Deletes a meeting and its recorded attendance, because the app has no other way. The audit log can undo it.
  func deleteMeeting(_ id: Int64, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = DeleteMeetingRequest(meetingId: "t_\(id)", force: true)
    let _: DeleteMeetingResponse = try await call(MeetingsServiceMethods.deleteMeeting, request, calls)
    return DialectAnswer(200, .object(["success": .bool(true)]))
  }
}
