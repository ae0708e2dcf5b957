public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.AttendanceService`: checks requests and calls the repository, whose commits wake the
/// watches.
public struct AttendanceService: AttendanceServiceProtocol {
  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits
  let hub: WatchHub
  let notifier: RosterNotifier

  public func recordAttendance(
    _ request: RecordAttendanceRequest, context: CallContext
  ) async throws -> RecordAttendanceResponse {
    let caller = try await access.caller(context, .secretary)
    try request.checkConstraints()
    let meeting = try FieldIDs.meeting(request.meetingId)
    let member = try FieldIDs.member(request.memberId)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.recordAttendance, user: caller.name)
    return RecordAttendanceResponse(
      attendance: try await repository.record(
        AttendanceEntry(member: member, status: request.status), meeting: meeting,
        eventMs: EventTime.milliseconds(request.eventTime, nowMs: repository.clockMs()), etag: request.etag, by: caller,
        idempotency: idempotency))
  }

  public func recordMeetingAttendance(
    _ request: RecordMeetingAttendanceRequest, context: CallContext
  ) async throws -> RecordMeetingAttendanceResponse {
    let caller = try await access.caller(context, .secretary)
    try request.checkConstraints()
    let meeting = try FieldIDs.meeting(request.meetingId)
    var violations = Violations()
    var entries: [AttendanceEntry] = []
    var seen: Set<Int64> = []
    for (index, entry) in request.entries.enumerated() {
      guard let member = AttendanceIDs.member(entry.memberId) else {
        throw RPCError.memberNotFound(entry.memberId, field: "entries[\(index)].memberId")
      }
      if !seen.insert(member).inserted {
        violations.add("entries[\(index)].memberId", "must not be repeated", .memberRepeated)
      }
      entries.append(AttendanceEntry(member: member, status: entry.status))
    }
    try violations.check()
    let eventMs = try EventTime.milliseconds(request.eventTime, nowMs: repository.clockMs())
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.recordMeetingAttendance, user: caller.name)
    return RecordMeetingAttendanceResponse(
      attendances: try await repository.record(
        entries, meeting: meeting, eventMs: eventMs, by: caller, idempotency: idempotency))
  }

  public func confirmAttendance(
    _ request: ConfirmAttendanceRequest, context: CallContext
  ) async throws -> ConfirmAttendanceResponse {
    let caller = try await access.caller(context, .member)
    let member = try caller.requireMember()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.confirmAttendance, user: caller.name)
    return ConfirmAttendanceResponse(
      attendance: try await repository.confirm(
        request.status, meeting: FieldIDs.meeting(request.meetingId),
        eventMs: EventTime.milliseconds(request.eventTime, nowMs: repository.clockMs()), by: member, caller,
        idempotency: idempotency))
  }
}

extension AttendanceService {
  public func getCheckInCode(
    _ request: GetCheckInCodeRequest, context: CallContext
  ) async throws -> GetCheckInCodeResponse {
    _ = try await access.caller(context, .secretary)
    let (code, text) = try await repository.checkInCode(meeting: FieldIDs.meeting(request.meetingId))
    return GetCheckInCodeResponse(
      code: text, refreshTime: ProtoTimestamp(millisecondsSince1970: code.refreshMs),
      expireTime: ProtoTimestamp(millisecondsSince1970: code.expireMs))
  }

  public func checkIn(_ request: CheckInRequest, context: CallContext) async throws -> CheckInResponse {
    let caller = try await access.caller(context, .member)
    let member = try caller.requireMember()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.checkIn, user: caller.name)
    return try await repository.checkIn(request.code, by: member, caller, idempotency: idempotency)
  }

  public func listMeetingAttendance(
    _ request: ListMeetingAttendanceRequest, context: CallContext
  ) async throws -> ListMeetingAttendanceResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    try await access.requireOpenStatistics(caller, of: nil)
    let number = try FieldIDs.meeting(request.meetingId)
    let present = try await repository.presentPosition(of: caller)
    _ = try await repository.meeting(number)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["meeting-attendance", request.meetingId], parts: 1, limits: limits)
    var response = ListMeetingAttendanceResponse(resumeToken: present.text(for: caller))
    (response.attendances, response.nextPageToken) = query.page(
      try await repository.attendance(ofMeeting: number, query)
    ) { [String(AttendanceIDs.member($0.memberId) ?? 0)] }
    response.counts = try await repository.counts(ofMeeting: number)
    return response
  }

  public func listMemberAttendance(
    _ request: ListMemberAttendanceRequest, context: CallContext
  ) async throws -> ListMemberAttendanceResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let number = try FieldIDs.member(request.memberId)
    try await access.requireOpenStatistics(caller, of: number)
    let present = try await repository.presentPosition(of: caller)
    let member = try await repository.member(number)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["member-attendance", request.memberId, String(request.year)], parts: 2, limits: limits)
    let (page, token) = query.page(
      try await repository.attendance(
        ofMember: number, year: Years.year(request.year), sinceDay: Days.parse(member.initiationDate), query)
    ) { found in
      [String(found.startMs), String(AttendanceIDs.meeting(found.attendance.meetingId) ?? 0)]
    }
    return ListMemberAttendanceResponse(
      attendances: page.map(\.attendance), nextPageToken: token, resumeToken: present.text(for: caller))
  }

  public func listRosterChanges(
    _ request: ListRosterChangesRequest, context: CallContext
  ) async throws -> ListRosterChangesResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let size = Paging.size(request.pageSize, limits)
    var position = try await repository.position(request.resumeToken, fromStart: request.fromStart, by: caller)
    var page = PageRows<SequencedChange>(countMax: size)
    // Without a token, changes that are committed from here on belong to the next page.
    if !request.resumeToken.isEmpty || request.fromStart {
      for change in try await repository.changes(after: position, by: caller, rowsMax: size + 1) {
        guard page.add(change, sizeBytes: change.sizeBytes) else { break }
      }
    }
    if let last = page.items.last { position.sequence = last.sequence }
    return ListRosterChangesResponse(
      changes: page.items.map { change in .with { $0.change = change.change } },
      resumeToken: position.text(for: caller), hasMore: page.hasMore)
  }

  public func watchRosterChanges(
    _ request: WatchRosterChangesRequest, context: CallContext, responses: ResponseSink<WatchRosterChangesResponse>
  ) async throws {
    try await RosterWatch(repository: repository, hub: hub, notifier: notifier).run(
      request, authenticate: { try await access.caller(context, .member) }, send: { try await responses.send($0) })
  }
}

extension AccessControl {
  /// Throws PERMISSION_DENIED, reason `STATISTICS_PRIVATE`, if the lodge shows members only their own statistics.
  ///
  /// - Parameter member: The member whose statistics are requested; nil for several members.
  func requireOpenStatistics(_ caller: AttendanceCaller, of member: Int64?) async throws {
    if caller.isStaff || (member != nil && caller.memberNumber == member) { return }
    guard try await repository.lodgeSettings().statisticsPrivate else { return }
    throw RPCError(.permissionDenied, "the lodge shows members only their own statistics", .statisticsPrivate)
  }
}
