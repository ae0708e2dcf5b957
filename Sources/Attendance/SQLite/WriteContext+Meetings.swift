import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

extension WriteContext {
  /// Creates a meeting with a new number. Copies only the fields that callers may set.
  func create(_ draft: Meeting, _ calendar: LodgeCalendar) throws -> Meeting {
    guard try number(MeetingRow.countSQL) < limits.meetingsMax else {
      throw RPCError.exhausted(
        "at most \(limits.meetingsMax) meetings are allowed", .meetingsExhausted, limit: limits.meetingsMax)
    }
    var meeting = Meeting()
    for field in MeetingField.allCases { field.copy(from: draft, to: &meeting) }
    meeting.number = try next("meeting")
    meeting.id = AttendanceIDs.meetingID(meeting.number)
    meeting.createTime = nowTime
    meeting.etag = Etag.text(version: 1)
    return try insert(meeting, calendar)
  }

  /// Inserts a new or restored meeting with its number and etag.
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
    try planNotices(from: nil, to: meeting)
    try planReload(from: nil, to: meeting)
    notifier.changedForAll()
    return meeting
  }

  /// Writes a changed meeting with a new etag. If its status, day or position has changed, removes it from the
  /// statistics and adds it again.
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
    try planNotices(from: old, to: meeting)
    try planReload(from: old, to: meeting)
    notifier.changedForAll()
    return meeting
  }

  /// Deletes a meeting and returns its attendance records.
  func delete(_ meeting: Meeting) throws -> [Attendance] {
    let state = try state(ofMeeting: meeting.number, field: "meetingId")
    let attendances = try transaction.query(
      AttendanceRow.ofMeetingSQL, [.integer(meeting.number), 0, .int(AttendanceLimits.objectsCeiling)],
      rowsMax: AttendanceLimits.objectsCeiling, AttendanceRow.attendance)
    try endCounting(state)
    try transaction.execute(MeetingDeletion.attendanceSQL, [.integer(meeting.number)])
    try transaction.execute(MeetingDeletion.checkInsSQL, [.integer(meeting.number)])
    try transaction.execute(MeetingDeletion.meetingSQL, [.integer(meeting.number)])
    // The meeting's tombstone covers its records.
    try insertTombstone(meeting: meeting.number, member: nil)
    try planNotices(from: meeting, to: nil)
    try planReload(from: meeting, to: nil)
    notifier.changedForAll()
    return attendances
  }

  /// Throws FAILED_PRECONDITION, reason `MEETING_NOT_BEGUN`, if a completed meeting starts in the future.
  private func checkBegun(_ meeting: Meeting) throws {
    guard meeting.status != .completed || meeting.startMs <= nowMs else {
      throw RPCError.refused("meeting.status", "a meeting that has not begun cannot be completed", .meetingNotBegun)
    }
  }
}

/// Statements that delete a meeting with its attendance and check-ins.
enum MeetingDeletion {
  static let attendanceSQL = "DELETE FROM attendance WHERE meeting_no = $1"
  static let checkInsSQL = "DELETE FROM check_ins WHERE meeting_no = $1"
  static let meetingSQL = "DELETE FROM meetings WHERE number = $1"
}
