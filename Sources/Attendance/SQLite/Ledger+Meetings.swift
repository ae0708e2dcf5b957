import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

extension Ledger {
  /// Adds a meeting with a number of its own. Only what callers may set is taken from the draft.
  func create(_ draft: Meeting, _ calendar: LodgeCalendar) throws -> Meeting {
    guard try number(MeetingRow.countSQL) < limits.meetingsMax else {
      throw RPCError.exhausted(
        "there may be \(limits.meetingsMax) meetings", .meetingsExhausted, limit: limits.meetingsMax)
    }
    var meeting = Meeting()
    for field in MeetingField.allCases { field.copy(from: draft, to: &meeting) }
    meeting.number = try next("meeting")
    meeting.id = Numbers.meetingID(meeting.number)
    meeting.createTime = nowTime
    meeting.etag = Etag.text(version: 1)
    return try insert(meeting, calendar)
  }

  /// Writes a new meeting, or one that was deleted, with its number and etag.
  func insert(_ draft: Meeting, _ calendar: LodgeCalendar) throws -> Meeting {
    var meeting = draft
    try checkBegun(meeting)
    let day = calendar.day(ofMs: meeting.startMs)
    meeting.year = Int32(clamping: Days.year(day))
    meeting.updateTime = nowTime
    try transaction.execute(
      MeetingRow.insertSQL, MeetingRow.values(meeting, day: day, sequence: try sequences(1)))
    if meeting.status == .completed {
      try beginCounting(meeting.number, startMs: meeting.startMs, day: day, year: Int64(meeting.year))
    }
    board.changedForAll()
    return meeting
  }

  /// Writes a changed meeting with a new etag. Where its status, day or place among the others has changed, it is taken
  /// out of the statistics and put in again.
  func rewrite(_ changed: Meeting, from old: Meeting, _ calendar: LodgeCalendar) throws -> Meeting {
    var meeting = changed
    if meeting.startTime != old.startTime || meeting.status != old.status { try checkBegun(meeting) }
    let day = calendar.day(ofMs: meeting.startMs)
    meeting.year = Int32(clamping: Days.year(day))
    meeting.updateTime = nowTime
    meeting.etag = Etag.text(version: (Etag.version(old.etag) ?? 0) + 1)
    let state = try state(ofMeeting: meeting.number, field: "meeting.id")
    let isMoved =
      state.startMs != meeting.startMs || state.day != day || (meeting.status == .completed) != (state.ordinal != nil)
    if isMoved { try endCounting(state) }
    try transaction.execute(
      MeetingRow.updateSQL, MeetingRow.values(meeting, day: day, sequence: try sequences(1)))
    if isMoved, meeting.status == .completed {
      try beginCounting(meeting.number, startMs: meeting.startMs, day: day, year: Int64(meeting.year))
    }
    board.changedForAll()
    return meeting
  }

  /// Deletes a meeting and answers what was recorded of it.
  func delete(_ meeting: Meeting) throws -> [Attendance] {
    let state = try state(ofMeeting: meeting.number, field: "meetingId")
    let attendances = try transaction.query(
      AttendanceRow.ofMeetingSQL, [.integer(meeting.number), 0, .int(AttendanceLimits.objectsCeiling)],
      rowsMax: AttendanceLimits.objectsCeiling, AttendanceRow.attendance)
    try endCounting(state)
    try transaction.execute(MeetingDeletion.attendanceSQL, [.integer(meeting.number)])
    try transaction.execute(MeetingDeletion.checkInsSQL, [.integer(meeting.number)])
    try transaction.execute(MeetingDeletion.meetingSQL, [.integer(meeting.number)])
    // The meeting's own tombstone stands for those of its records.
    try bury(meeting: meeting.number, member: nil)
    board.changedForAll()
    return attendances
  }

  /// Throws FAILED_PRECONDITION, reason `MEETING_NOT_BEGUN`, for a completed meeting that lies ahead.
  private func checkBegun(_ meeting: Meeting) throws {
    guard meeting.status != .completed || meeting.startMs <= nowMs else {
      throw RPCError.refused("meeting.status", "a meeting that has not begun cannot be completed", .meetingNotBegun)
    }
  }
}

/// Deleting a meeting with everything that hangs on it.
enum MeetingDeletion {
  static let attendanceSQL = "DELETE FROM attendance WHERE meeting_no = $1"
  static let checkInsSQL = "DELETE FROM check_ins WHERE meeting_no = $1"
  static let meetingSQL = "DELETE FROM meetings WHERE number = $1"
}
