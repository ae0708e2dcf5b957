public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.MeetingsService`.
public struct MeetingsService: MeetingsServiceProtocol {
  static let feedPrefix = "cal_"
  static let feedSizeBytes = 47
  /// The oldest meeting in a calendar, as an age.
  static let calendarPastMs: Int64 = 366 * 24 * 3_600 * 1_000

  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits

  public func createMeeting(
    _ request: CreateMeetingRequest, context: CallContext
  ) async throws -> CreateMeetingResponse {
    let caller = try await access.caller(context, .secretary)
    var violations = Violations()
    request.validate(into: &violations)
    let draft = request.meeting ?? Meeting()
    MeetingRules.check(draft, "meeting", &violations)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: MeetingsServiceMethods.createMeeting, user: caller.name)
    return CreateMeetingResponse(
      meeting: try await repository.createMeeting(draft, by: caller, idempotency: idempotency))
  }

  public func getMeeting(_ request: GetMeetingRequest, context: CallContext) async throws -> GetMeetingResponse {
    _ = try await access.caller(context, .member)
    return GetMeetingResponse(meeting: try await repository.meeting(FieldIDs.meeting(request.meetingId)))
  }

  public func listMeetings(_ request: ListMeetingsRequest, context: CallContext) async throws -> ListMeetingsResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["meetings", String(request.year), String(request.status.rawValue)], parts: 2, limits: limits)
    let present = try await repository.presentPosition(of: caller)
    let found = try await repository.meetings(
      query, year: Years.year(request.year), status: request.status == .unspecified ? nil : request.status)
    let (meetings, nextPageToken) = query.page(found) { [String($0.startMs), String($0.number)] }
    return ListMeetingsResponse(
      meetings: meetings, nextPageToken: nextPageToken, resumeToken: present.text(for: caller))
  }

  public func listUpcomingMeetings(
    _ request: ListUpcomingMeetingsRequest, context: CallContext
  ) async throws -> ListUpcomingMeetingsResponse {
    let caller = try await access.caller(context, .member)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["upcoming"], parts: 2,
      limits: limits)
    let present = try await repository.presentPosition(of: caller)
    let (meetings, nextPageToken) = query.page(try await repository.upcomingMeetings(query)) {
      [String($0.startMs), String($0.number)]
    }
    return ListUpcomingMeetingsResponse(
      meetings: meetings, nextPageToken: nextPageToken, resumeToken: present.text(for: caller))
  }

  public func listMeetingYears(
    _ request: ListMeetingYearsRequest, context: CallContext
  ) async throws -> ListMeetingYearsResponse {
    let caller = try await access.caller(context, .member)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["years"], parts: 1,
      limits: limits)
    let (years, nextPageToken) = query.page(try await repository.meetingYears(query)) { [String($0.year)] }
    return ListMeetingYearsResponse(years: years, nextPageToken: nextPageToken)
  }

  public func updateMeeting(
    _ request: UpdateMeetingRequest, context: CallContext
  ) async throws -> UpdateMeetingResponse {
    let caller = try await access.caller(context, .secretary)
    let (draft, fields) = try UpdateMask.change(
      request.meeting, "meeting", request.updateMask, MeetingRules.check(_:of:_:_:))
    var change = draft
    change.number = try FieldIDs.meeting(change.id, field: "meeting.id")
    return UpdateMeetingResponse(meeting: try await repository.updateMeeting(change, fields: fields, by: caller))
  }

  public func cancelMeeting(
    _ request: CancelMeetingRequest, context: CallContext
  ) async throws -> CancelMeetingResponse {
    let caller = try await access.caller(context, .secretary)
    return CancelMeetingResponse(
      meeting: try await repository.cancelMeeting(FieldIDs.meeting(request.meetingId), by: caller))
  }

  public func deleteMeeting(
    _ request: DeleteMeetingRequest, context: CallContext
  ) async throws -> DeleteMeetingResponse {
    let caller = try await access.caller(context, .secretary)
    let count = try await repository.deleteMeeting(
      FieldIDs.meeting(request.meetingId), isForced: request.force, etag: request.etag, by: caller)
    return DeleteMeetingResponse(deletedAttendanceCount: Int32(clamping: count))
  }
}

extension MeetingsService {
  public func createCalendarFeed(
    _ request: CreateCalendarFeedRequest, context: CallContext
  ) async throws -> CreateCalendarFeedResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: MeetingsServiceMethods.createCalendarFeed, user: caller.name)
    let (secret, hash) = try HashedSecret.random(Self.feedPrefix)
    let (feed, isNew) = try await repository.createFeed(
      name: request.name, secretHash: hash, by: caller, idempotency: idempotency)
    guard isNew else { return CreateCalendarFeedResponse(feed: feed) }
    return CreateCalendarFeedResponse(feed: feed, secret: secret, path: "/attendance/v1/calendars/\(secret)")
  }

  public func listCalendarFeeds(
    _ request: ListCalendarFeedsRequest, context: CallContext
  ) async throws -> ListCalendarFeedsResponse {
    let caller = try await access.caller(context, .member)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["feeds"], parts: 1,
      limits: limits)
    let (feeds, nextPageToken) = query.page(try await repository.feeds(of: caller.name, query)) { [$0.id] }
    return ListCalendarFeedsResponse(feeds: feeds, nextPageToken: nextPageToken)
  }

  public func deleteCalendarFeed(
    _ request: DeleteCalendarFeedRequest, context: CallContext
  ) async throws -> DeleteCalendarFeedResponse {
    let caller = try await access.caller(context, .member)
    try await repository.deleteFeed(request.feedId, by: caller)
    return DeleteCalendarFeedResponse()
  }

  /// Returns the calendar of a feed. The secret is the only credential.
  public func getCalendar(_ request: GetCalendarRequest, context: CallContext) async throws -> GetCalendarResponse {
    guard let hash = try HashedSecret.hash(request.secret, Self.feedPrefix, Self.feedSizeBytes) else {
      throw RPCError.missing("calendar", "", field: "secret", .feedNotFound)
    }
    let nowMs = repository.clockMs()
    let meetings = try await repository.calendarMeetings(secretHash: hash, sinceMs: nowMs - Self.calendarPastMs)
    return GetCalendarResponse(contentType: ICalendar.contentType, content: ICalendar.text(meetings, nowMs: nowMs))
  }
}

/// Years in requests.
enum Years {
  /// Returns the year, or nil for 0, which means all years.
  static func year(_ year: Int32) -> Int64? { year == 0 ? nil : Int64(year) }
}
