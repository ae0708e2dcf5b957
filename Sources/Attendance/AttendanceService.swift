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
    let caller = try access.caller(context, .secretary)
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    Self.check(request.status, "status", &violations)
    try violations.check()
    let meeting = try FieldIDs.meeting(request.meetingId)
    let member = try FieldIDs.member(request.memberId)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.recordAttendance, user: caller.name)
    return RecordAttendanceResponse(
      attendance: try await repository.record(
        AttendanceEntry(member: member, status: request.status), meeting: meeting, etag: request.etag, by: caller,
        idempotency: idempotency))
  }

  public func batchRecordAttendance(
    _ request: BatchRecordAttendanceRequest, context: CallContext
  ) async throws -> BatchRecordAttendanceResponse {
    let caller = try access.caller(context, .secretary)
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    RequestChecks.count(request.entries.count, "entries", limits, &violations)
    try violations.check()
    let meeting = try FieldIDs.meeting(request.meetingId)
    var entries: [AttendanceEntry] = []
    var seen: Set<Int64> = []
    for (index, entry) in request.entries.enumerated() {
      Self.check(entry.status, "entries[\(index)].status", &violations)
      guard let member = AttendanceIDs.member(entry.memberId) else {
        throw RPCError.memberNotFound(entry.memberId, field: "entries[\(index)].memberId")
      }
      if !seen.insert(member).inserted {
        violations.add("entries[\(index)].memberId", "must not be repeated", .memberRepeated)
      }
      entries.append(AttendanceEntry(member: member, status: entry.status))
    }
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.batchRecordAttendance, user: caller.name)
    return BatchRecordAttendanceResponse(
      attendances: try await repository.record(
        entries, meeting: meeting, by: caller, idempotency: idempotency))
  }

  public func confirmAttendance(
    _ request: ConfirmAttendanceRequest, context: CallContext
  ) async throws -> ConfirmAttendanceResponse {
    let caller = try access.caller(context, .member)
    let member = try caller.requireMember()
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    Self.check(request.status, "status", &violations)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.confirmAttendance, user: caller.name)
    return ConfirmAttendanceResponse(
      attendance: try await repository.confirm(
        request.status, meeting: FieldIDs.meeting(request.meetingId), by: member, caller, idempotency: idempotency))
  }

  static func check(_ status: AttendanceStatus, _ field: @autoclosure () -> String, _ violations: inout Violations) {
    switch status {
    case .present, .absent, .excused, .notConfirmed: break
    case .unspecified: violations.add(field(), "must be given", .enumUnspecified)
    case .unrecognized: violations.add(field(), "must be PRESENT, ABSENT, EXCUSED or NOT_CONFIRMED", .enumUnknown)
    }
  }
}

extension AttendanceService {
  public func getCheckInCode(
    _ request: GetCheckInCodeRequest, context: CallContext
  ) async throws -> GetCheckInCodeResponse {
    _ = try access.caller(context, .secretary)
    let (code, text) = try repository.checkInCode(meeting: FieldIDs.meeting(request.meetingId))
    return GetCheckInCodeResponse(
      code: text, refreshTime: ProtoTimestamp(millisecondsSince1970: code.refreshMs),
      expireTime: ProtoTimestamp(millisecondsSince1970: code.expireMs))
  }

  public func checkIn(_ request: CheckInRequest, context: CallContext) async throws -> CheckInResponse {
    let caller = try access.caller(context, .member)
    let member = try caller.requireMember()
    try Violations.check { RequestChecks.requestID(request.requestId, "requestId", &$0) }
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AttendanceServiceMethods.checkIn, user: caller.name)
    return try await repository.checkIn(request.code, by: member, caller, idempotency: idempotency)
  }

  public func listMeetingAttendance(
    _ request: ListMeetingAttendanceRequest, context: CallContext
  ) async throws -> ListMeetingAttendanceResponse {
    let caller = try access.caller(context, .member)
    try access.requireOpenStatistics(caller, of: nil)
    let number = try FieldIDs.meeting(request.meetingId)
    _ = try repository.meeting(number)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["meeting-attendance", request.meetingId], parts: 1, limits: limits)
    var response = ListMeetingAttendanceResponse()
    (response.attendances, response.nextPageToken) = query.page(
      try repository.attendance(ofMeeting: number, query)
    ) { [String(AttendanceIDs.member($0.memberId) ?? 0)] }
    response.counts = try repository.counts(ofMeeting: number)
    return response
  }

  public func listMemberAttendance(
    _ request: ListMemberAttendanceRequest, context: CallContext
  ) async throws -> ListMemberAttendanceResponse {
    let caller = try access.caller(context, .member)
    let number = try FieldIDs.member(request.memberId)
    try access.requireOpenStatistics(caller, of: number)
    _ = try repository.member(number)
    let year = try Years.check(request.year)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["member-attendance", request.memberId, String(request.year)], parts: 2, limits: limits)
    let (page, token) = query.page(try repository.attendance(ofMember: number, year: year, query)) { found in
      [String(found.startMs), String(AttendanceIDs.meeting(found.attendance.meetingId) ?? 0)]
    }
    return ListMemberAttendanceResponse(attendances: page.map(\.attendance), nextPageToken: token)
  }

  public func listChanges(_ request: ListChangesRequest, context: CallContext) async throws -> ListChangesResponse {
    let caller = try access.caller(context, .member)
    let size = try Violations.check { Paging.size(request.pageSize, limits, &$0) }
    var position = try repository.position(request.since, by: caller)
    var page = PageRows<SequencedChange>(countMax: size)
    for change in try repository.changes(after: position, by: caller, rowsMax: size + 1) {
      guard page.add(change, sizeBytes: change.sizeBytes) else { break }
    }
    var response = ListChangesResponse(changes: page.items.map { change in .with { $0.change = change.change } })
    if let last = page.items.last { position.sequence = last.sequence }
    response.nextSince = position.text(for: caller)
    response.hasMore = page.hasMore
    return response
  }

  public func watchChanges(
    _ request: WatchChangesRequest, context: CallContext, responses: ResponseSink<WatchChangesResponse>
  ) async throws {
    try await RosterWatch(repository: repository, hub: hub, notifier: notifier).run(
      since: request.since, authenticate: { try access.caller(context, .member) },
      send: { try await responses.send($0) })
  }
}

extension AccessControl {
  /// Throws PERMISSION_DENIED, reason `STATISTICS_PRIVATE`, if the lodge shows members only their own statistics.
  ///
  /// - Parameter member: The member whose statistics are requested; nil for several members.
  func requireOpenStatistics(_ caller: AttendanceCaller, of member: Int64?) throws {
    if caller.isStaff || (member != nil && caller.memberNumber == member) { return }
    guard try repository.lodgeSettings().statisticsPrivate else { return }
    throw RPCError(.permissionDenied, "the lodge shows members only their own statistics", .statisticsPrivate)
  }
}
