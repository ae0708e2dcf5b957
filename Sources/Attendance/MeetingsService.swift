public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.MeetingsService`.
public struct MeetingsService: MeetingsServiceProtocol {
  static let feedPrefix = "cal_"
  static let feedSizeBytes = 47
  static let feedNameMax = 128
  static let upcomingDefault: Int32 = 3
  static let upcomingMax: Int32 = 100
  /// The oldest meeting in a calendar, as an age.
  static let calendarPastMs: Int64 = 366 * 24 * 3_600 * 1_000

  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits

  public func createMeeting(
    _ request: CreateMeetingRequest, context: CallContext
  ) async throws -> CreateMeetingResponse {
    let caller = try access.caller(context, .secretary)
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    let draft = violations.message(request.meeting, "meeting", MeetingRules.check)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: MeetingsServiceMethods.createMeeting, user: caller.name)
    return CreateMeetingResponse(
      meeting: try await repository.createMeeting(draft, by: caller, idempotency: idempotency))
  }

  public func getMeeting(_ request: GetMeetingRequest, context: CallContext) async throws -> GetMeetingResponse {
    _ = try access.caller(context, .member)
    return GetMeetingResponse(meeting: try repository.meeting(FieldIDs.meeting(request.meetingId)))
  }

  public func listMeetings(_ request: ListMeetingsRequest, context: CallContext) async throws -> ListMeetingsResponse {
    let caller = try access.caller(context, .member)
    let year = try Years.check(request.year)
    if case .unrecognized = request.status {
      throw RPCError.invalidField("status", "must be a known status", .enumUnknown)
    }
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["meetings", String(request.year), String(request.status.rawValue)], parts: 2, limits: limits)
    let found = try repository.meetings(
      query, year: year, status: request.status == .unspecified ? nil : request.status)
    let (meetings, nextPageToken) = query.page(found) { [String($0.startMs), String($0.number)] }
    return ListMeetingsResponse(meetings: meetings, nextPageToken: nextPageToken)
  }

  public func listUpcomingMeetings(
    _ request: ListUpcomingMeetingsRequest, context: CallContext
  ) async throws -> ListUpcomingMeetingsResponse {
    _ = try access.caller(context, .member)
    let count = request.count == 0 ? Self.upcomingDefault : request.count
    guard (1...Self.upcomingMax).contains(count) else {
      throw RPCError.invalidField(
        "count", "must be 1 to \(Self.upcomingMax), or 0 for \(Self.upcomingDefault)",
        .outOfRange)
    }
    return ListUpcomingMeetingsResponse(meetings: try repository.upcomingMeetings(count: Int(count)))
  }

  public func updateMeeting(
    _ request: UpdateMeetingRequest, context: CallContext
  ) async throws -> UpdateMeetingResponse {
    let caller = try access.caller(context, .secretary)
    let (draft, fields) = try UpdateMask.change(
      request.meeting, "meeting", request.updateMask, MeetingRules.check(_:of:_:_:))
    var change = draft
    change.number = try FieldIDs.meeting(change.id, field: "meeting.id")
    return UpdateMeetingResponse(meeting: try await repository.updateMeeting(change, fields: fields, by: caller))
  }

  public func cancelMeeting(
    _ request: CancelMeetingRequest, context: CallContext
  ) async throws -> CancelMeetingResponse {
    let caller = try access.caller(context, .secretary)
    return CancelMeetingResponse(
      meeting: try await repository.cancelMeeting(FieldIDs.meeting(request.meetingId), by: caller))
  }

  public func deleteMeeting(
    _ request: DeleteMeetingRequest, context: CallContext
  ) async throws -> DeleteMeetingResponse {
    let caller = try access.caller(context, .secretary)
    let count = try await repository.deleteMeeting(
      FieldIDs.meeting(request.meetingId), isForced: request.force, etag: request.etag, by: caller)
    return DeleteMeetingResponse(deletedAttendanceCount: Int32(clamping: count))
  }
}

extension MeetingsService {
  public func createCalendarFeed(
    _ request: CreateCalendarFeedRequest, context: CallContext
  ) async throws -> CreateCalendarFeedResponse {
    let caller = try access.caller(context, .member)
    try Violations.check { $0.text(request.name, "name", max: Self.feedNameMax) }
    let (secret, hash) = try HashedSecret.random(Self.feedPrefix)
    return CreateCalendarFeedResponse(
      feed: try await repository.createFeed(name: request.name, secretHash: hash, by: caller), secret: secret,
      path: "/attendance/v1/calendars/\(secret)")
  }

  public func listCalendarFeeds(
    _ request: ListCalendarFeedsRequest, context: CallContext
  ) async throws -> ListCalendarFeedsResponse {
    let caller = try access.caller(context, .member)
    return ListCalendarFeedsResponse(feeds: try repository.feeds(of: caller.name))
  }

  public func deleteCalendarFeed(
    _ request: DeleteCalendarFeedRequest, context: CallContext
  ) async throws -> DeleteCalendarFeedResponse {
    let caller = try access.caller(context, .member)
    try await repository.deleteFeed(request.feedId, by: caller)
    return DeleteCalendarFeedResponse()
  }

  /// Returns the calendar of a feed. The secret is the only credential.
  public func getCalendar(_ request: GetCalendarRequest, context: CallContext) async throws -> GetCalendarResponse {
    guard let hash = try HashedSecret.hash(request.secret, Self.feedPrefix, Self.feedSizeBytes) else {
      throw RPCError.missing("calendar", "", field: "secret", .feedNotFound)
    }
    let nowMs = repository.clockMs()
    let meetings = try repository.calendarMeetings(secretHash: hash, sinceMs: nowMs - Self.calendarPastMs)
    return GetCalendarResponse(contentType: ICalendar.contentType, content: ICalendar.text(meetings, nowMs: nowMs))
  }
}

/// Validation of years in requests.
enum Years {
  /// Returns the year, or nil for 0, which means all years.
  static func check(_ year: Int32) throws(RPCError) -> Int64? {
    if year == 0 { return nil }
    guard (1_700...2_999).contains(year) else {
      throw .invalidField("year", "must be 1700 to 2999, or 0 for all", .outOfRange)
    }
    return Int64(year)
  }
}
