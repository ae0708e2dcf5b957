import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The facts about a member that recording needs, read with one statement because each statement costs as much as its
/// data.
struct MemberState: Sendable, Hashable {
  private static let columns = """
    m.initiation_day, m.erased_at_ms, y.marks, a.meeting_no, a.member_no, a.status, a.source, a.recorded_by,
      a.updated_at_ms, a.version, a.event_ms
    """
  /// Member $1, meeting $2, year $3.
  static let selectSQL = """
    SELECT \(columns)
    FROM members AS m LEFT JOIN member_years AS y ON y.member_no = m.number AND y.year = $3
      LEFT JOIN attendance AS a ON a.meeting_no = $2 AND a.member_no = m.number
    WHERE m.number = $1
    """
  /// Member $1, whose columns are NULL if there is no such member, and meeting $2.
  static let withMeetingSQL = """
    SELECT \(columns), m.number, g.number, g.start_ms, g.day, g.year, g.ordinal, g.status
    FROM meetings AS g LEFT JOIN members AS m ON m.number = $1
      LEFT JOIN member_years AS y ON y.member_no = m.number AND y.year = g.year
      LEFT JOIN attendance AS a ON a.meeting_no = g.number AND a.member_no = m.number
    WHERE g.number = $2
    """
  static func query(_ member: Int64, atMeeting number: Int64) -> SQLQuery {
    SQLQuery(withMeetingSQL, [.integer(member), .integer(number)])
  }

  /// The first columns of `withMeetingSQL` after those of the member's state.
  static let (memberColumn, meetingColumn) = (11, 12)

  var initiationDay: Int64?
  var isErased: Bool
  /// The marks of the meeting's year.
  var marks: Marks?
  /// The record at the meeting; nil if there is none.
  var attendance: Attendance?

  init(_ row: borrowing SQLRow) throws {
    initiationDay = try row.integerIfPresent(0)
    isErased = !row.isNull(1)
    marks = try row.bytesIfPresent(2).map { Marks(bytes: $0) }
    if !row.isNull(3) { attendance = try AttendanceRow.attendance(row, from: 3) }
  }
}

/// A record before and after a change.
struct AttendanceChange: Sendable, Hashable {
  var old: Attendance?
  var new: Attendance
  var isChanged: Bool { old != new }
}

extension WriteContext {
  /// Records a member's status at a meeting. The sequence is used only if the record changes.
  ///
  /// - Parameters:
  ///   - eventMs: The time of the decision; nil means now. Has no effect if the record has a later one.
  ///   - path: The path of the request field that contains `memberId` and `etag`.
  /// - Throws: NOT_FOUND; FAILED_PRECONDITION, reason `MEETING_CANCELLED`, `BEFORE_INITIATION` or `MEMBER_ERASED`;
  ///   ABORTED if `etag` is set and differs.
  func record(
    _ status: AttendanceStatus, of member: Int64, at meeting: MeetingState, _ source: AttendanceSource,
    sequence: Int64, eventMs: Int64? = nil, etag: String = "", path: String = ""
  ) throws -> AttendanceChange {
    let state = try transaction.queryOne(
      MemberState.selectSQL, [.integer(member), .integer(meeting.number), .integer(meeting.year)],
      { try MemberState($0) })
    return try record(
      status, of: member, state, at: meeting, source, sequence: sequence, eventMs: eventMs, etag: etag, path: path)
  }

  /// Records a member's status at the meeting with a number, which is read together with the member.
  func record(
    _ status: AttendanceStatus, of member: Int64, atMeeting number: Int64, _ source: AttendanceSource, eventMs: Int64?,
    etag: String
  ) throws -> AttendanceChange {
    let found = try transaction.queryOne(
      MemberState.query(member, atMeeting: number),
      { row in
        (
          row.isNull(MemberState.memberColumn) ? nil : try MemberState(row),
          try MeetingState(row, from: MemberState.meetingColumn)
        )
      })
    guard let (state, meeting) = found else {
      throw RPCError.meetingNotFound(AttendanceIDs.meetingID(number), field: "meetingId")
    }
    return try record(
      status, of: member, state, at: meeting, source, sequence: sequences(1), eventMs: eventMs, etag: etag, path: "")
  }

  private func record(
    _ status: AttendanceStatus, of member: Int64, _ state: MemberState?, at meeting: MeetingState,
    _ source: AttendanceSource, sequence: Int64, eventMs: Int64?, etag: String, path: String
  ) throws -> AttendanceChange {
    guard meeting.status != .cancelled else {
      throw RPCError.refused("meetingId", "the meeting is cancelled", .meetingCancelled)
    }
    guard let state else {
      throw RPCError.memberNotFound(AttendanceIDs.memberID(member), field: "\(path)memberId")
    }
    guard !state.isErased else { throw RPCError.refused("\(path)memberId", "was erased", .memberErased) }
    if let initiationDay = state.initiationDay, meeting.day < initiationDay {
      throw RPCError.refused(
        "\(path)memberId", "the meeting was before the initiation on \(Days.text(initiationDay))", .beforeInitiation)
    }
    let old = state.attendance
    guard etag.isEmpty || etag == old?.etag ?? "" else {
      throw RPCError.etagMismatch(field: "\(path)etag", current: old?.etag ?? "")
    }
    if let old, let oldMs = old.eventTime?.millisecondsSince1970 {
      // A later decision has arrived before this one.
      if let eventMs, eventMs < oldMs { return AttendanceChange(old: old, new: old) }
      // Recording the same status again changes nothing, whoever records it. A time is stored nevertheless, because a
      // decision between both may still arrive.
      if old.status == status, eventMs ?? oldMs == oldMs { return AttendanceChange(old: old, new: old) }
    }
    var new = old ?? Attendance()
    new.memberId = AttendanceIDs.memberID(member)
    new.meetingId = AttendanceIDs.meetingID(meeting.number)
    new.status = status
    new.source = source
    new.recordedBy = caller.name
    new.updateTime = nowTime
    new.eventTime = eventMs.map { ProtoTimestamp(millisecondsSince1970: $0) } ?? nowTime
    new.etag = Etag.text(version: (old.flatMap { Etag.version($0.etag) } ?? 0) + 1)
    try put(
      new, member: member, meeting, initiationDay: state.initiationDay, marks: state.marks, sequence: sequence)
    return AttendanceChange(old: old, new: new)
  }

  /// Writes a record unchanged and updates the statistics.
  ///
  /// - Parameter marks: The member's marks of the meeting's year, if the caller has read them.
  func put(
    _ attendance: Attendance, member: Int64, _ meeting: MeetingState, initiationDay: Int64?, marks: Marks? = nil,
    sequence: Int64
  ) throws {
    try transaction.execute(
      AttendanceRow.upsertSQL,
      AttendanceRow.values(attendance, meeting: meeting.number, member: member, sequence: sequence))
    try mark(member, initiationDay: initiationDay, attendance.status, at: meeting, known: marks)
    notifier.changed(member: member)
  }

  /// Deletes a record and updates the statistics.
  func remove(member: Int64, _ meeting: MeetingState, initiationDay: Int64?) throws {
    try transaction.execute(AttendanceRow.deleteSQL, [.integer(meeting.number), .integer(member)])
    try mark(member, initiationDay: initiationDay, nil, at: meeting)
    try insertTombstone(meeting: meeting.number, member: member)
    notifier.changed(member: member)
  }

  /// Inserts a tombstone for a meeting, or for a record if `member` is set.
  func insertTombstone(meeting: Int64, member: Int64?) throws {
    try transaction.execute(
      Tombstones.insertSQL,
      [.integer(try sequences(1)), .integer(meeting), .integer(member), .integer(nowMs)])
  }
}

/// The table `tombstones`.
enum Tombstones {
  static let insertSQL = "INSERT INTO tombstones (sequence, meeting_no, member_no, at_ms) VALUES ($1, $2, $3, $4)"
  static let afterSQL = """
    SELECT sequence, meeting_no, member_no FROM tombstones WHERE sequence > $1 ORDER BY sequence LIMIT $2
    """
  static let floorSQL = "SELECT value FROM counters WHERE name = 'tombstones'"
  static let oldestSQL = "SELECT sequence, at_ms FROM tombstones ORDER BY sequence LIMIT $1"
  static let dropSQL = "DELETE FROM tombstones WHERE sequence <= $1"
  static let setFloorSQL = "UPDATE counters SET value = $1 WHERE name = 'tombstones'"
}
