import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func createMeeting(_ draft: Meeting, by caller: AttendanceCaller, idempotency: IdempotentRequest?) async throws
    -> Meeting
  {
    try await change(by: caller, idempotency) { context in
      let meeting = try context.create(draft, context.transaction.lodgeSettings().calendar())
      try context.audit("meeting.create", meeting.id, old: nil, new: .of(meeting))
      return meeting
    }
  }

  func meeting(_ number: Int64) async throws -> Meeting {
    let meeting = try await readSingle { try $0.queryOne(MeetingRow.oneSQL, [.integer(number)], MeetingRow.meeting) }
    guard let meeting else { throw RPCError.meetingNotFound(AttendanceIDs.meetingID(number), field: "meetingId") }
    return meeting
  }

  func meetings(_ query: PositionQuery, year: Int64?, status: MeetingStatus?) async throws -> PageRows<Meeting> {
    let (startMs, number) = Self.place(query)
    var arguments: [SQLValue] = [.integer(startMs), .integer(number), .int(query.pageSize + 1)]
    if let year { arguments.append(.integer(year)) }
    if let status { arguments.append(.integer(Int64(status.rawValue))) }
    return try await readSingle { [arguments] transaction in
      var page = PageRows<Meeting>(countMax: query.pageSize)
      try transaction.forEach(MeetingRow.listSQL(ofYear: year != nil, ofStatus: status != nil), arguments) { row in
        let meeting = try MeetingRow.meeting(row)
        return page.add(meeting, sizeBytes: meeting.sizeBytes)
      }
      return page
    }
  }

  /// Returns the start time and number that a page continues after; the maximum values for the first page.
  static func place(_ query: PositionQuery) -> (startMs: Int64, number: Int64) {
    guard query.position.count == 2, let startMs = Int64(query.position[0]), let number = Int64(query.position[1])
    else { return (.max, .max) }
    return (startMs, number)
  }

  func meetingYears(_ query: PositionQuery) async throws -> [MeetingYear] {
    let before = query.position.first.flatMap(Int64.init) ?? .max
    return try await readSingle { transaction in
      try transaction.query(MeetingRow.yearsSQL, [.integer(before), .int(query.pageSize + 1)]) { row in
        MeetingYear(
          year: Int32(clamping: try row.integer(0)), meetingCount: Int32(clamping: try row.integer(1)),
          completedCount: Int32(clamping: try row.integer(2)))
      }
    }
  }

  func upcomingMeetings(_ query: PositionQuery) async throws -> PageRows<Meeting> {
    // Also excludes meetings that have begun since the previous page.
    let now = (startMs: clockMs() - 1, number: Int64.max)
    let place = Self.place(query)
    let after = !query.position.isEmpty && place > now ? place : now
    return try await readSingle { transaction in
      var page = PageRows<Meeting>(countMax: query.pageSize)
      try transaction.forEach(
        MeetingRow.upcomingSQL, [.integer(after.startMs), .integer(after.number), .int(query.pageSize + 1)]
      ) { row in
        let meeting = try MeetingRow.meeting(row)
        return page.add(meeting, sizeBytes: meeting.sizeBytes)
      }
      return page
    }
  }

  func updateMeeting(_ change: Meeting, fields: [MeetingField], by caller: AttendanceCaller) async throws -> Meeting {
    try await self.change(by: caller) { context in
      let found = try context.meeting(change.number, field: "meeting.id")
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "meeting.etag", current: found.etag)
      }
      var meeting = found
      for field in fields { field.copy(from: change, to: &meeting) }
      guard meeting != found else { return found }
      meeting = try context.rewrite(meeting, from: found, context.transaction.lodgeSettings().calendar())
      try context.audit("meeting.update", meeting.id, old: .of(found), new: .of(meeting))
      return meeting
    }
  }

  func cancelMeeting(_ number: Int64, by caller: AttendanceCaller) async throws -> Meeting {
    try await change(by: caller) { context in
      let found = try context.meeting(number, field: "meetingId")
      guard found.status != .cancelled else { return found }
      var meeting = found
      meeting.status = .cancelled
      meeting = try context.rewrite(meeting, from: found, context.transaction.lodgeSettings().calendar())
      try context.audit("meeting.cancel", meeting.id, old: .of(found), new: .of(meeting))
      return meeting
    }
  }

  func deleteMeeting(_ number: Int64, isForced: Bool, etag: String, by caller: AttendanceCaller) async throws -> Int {
    try await change(by: caller) { context in
      let found = try context.meeting(number, field: "meetingId")
      guard etag.isEmpty || etag == found.etag else {
        throw RPCError.etagMismatch(field: "etag", current: found.etag)
      }
      let has = try context.transaction.queryOne(AttendanceRow.hasSQL, [.integer(number)]) { try $0.integer(0) }
      guard isForced || has == nil else {
        throw RPCError.refused("meetingId", "has attendance; set force to delete it too", .meetingHasAttendance)
      }
      let attendances = try context.delete(found)
      try context.audit("meeting.delete", found.id, old: .of(found, attendances), new: nil)
      return attendances.count
    }
  }
}
