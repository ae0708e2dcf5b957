import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Statements of `attendance` and the mapping of its rows.
enum AttendanceRow {
  static let columns = "meeting_no, member_no, status, source, recorded_by, updated_at_ms, version, event_ms"
  static let oneSQL = "SELECT \(columns) FROM attendance WHERE meeting_no = $1 AND member_no = $2"
  static let upsertSQL = """
    INSERT INTO attendance (\(columns), sequence) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (meeting_no, member_no) DO UPDATE SET status = excluded.status, source = excluded.source,
      recorded_by = excluded.recorded_by, updated_at_ms = excluded.updated_at_ms, version = excluded.version,
      event_ms = excluded.event_ms, sequence = excluded.sequence
    """
  static let deleteSQL = "DELETE FROM attendance WHERE meeting_no = $1 AND member_no = $2"
  static let ofMeetingSQL = """
    SELECT \(columns) FROM attendance WHERE meeting_no = $1 AND member_no > $2 ORDER BY member_no LIMIT $3
    """
  /// The records of the members who had been initiated by then.
  private static let eligible = """
    attendance AS a JOIN meetings AS g ON g.number = a.meeting_no
      JOIN members AS m ON m.number = a.member_no AND (m.initiation_day IS NULL OR m.initiation_day <= g.day)
    """
  static let eligibleSQL = """
    SELECT \(ofMeeting) FROM \(eligible) WHERE a.meeting_no = $1 AND a.member_no > $2 ORDER BY a.member_no LIMIT $3
    """
  static let statusesSQL = """
    SELECT member_no, status FROM attendance WHERE meeting_no = $1 AND member_no > $2 ORDER BY member_no LIMIT $3
    """
  static let hasSQL = "SELECT 1 FROM attendance WHERE meeting_no = $1 LIMIT 1"
  static let countsSQL = "SELECT a.status, count(*) FROM \(eligible) WHERE a.meeting_no = $1 GROUP BY a.status"
  static let changedSQL = """
    SELECT sequence, \(columns) FROM attendance WHERE sequence > $1 ORDER BY sequence LIMIT $2
    """
  private static let ofMeeting = """
    a.meeting_no, a.member_no, a.status, a.source, a.recorded_by, a.updated_at_ms, a.version, a.event_ms
    """
  /// The changed records of one member. One look-up per meeting spares an index over all records.
  static let changedOfMemberSQL = """
    SELECT a.sequence, \(ofMeeting) FROM meetings AS m JOIN attendance AS a
      ON a.meeting_no = m.number AND a.member_no = $2
    WHERE a.sequence > $1 ORDER BY a.sequence LIMIT $3
    """
  /// The records of one member at meetings from day $5 on.
  static let ofMemberSQL = """
    SELECT \(ofMeeting), m.start_ms FROM meetings AS m JOIN attendance AS a
      ON a.meeting_no = m.number AND a.member_no = $3
    WHERE m.day >= $5 AND (m.start_ms, m.number) < ($1, $2) ORDER BY m.start_ms DESC, m.number DESC LIMIT $4
    """
  static let ofMemberAndYearSQL = """
    SELECT \(ofMeeting), m.start_ms FROM meetings AS m JOIN attendance AS a
      ON a.meeting_no = m.number AND a.member_no = $3
    WHERE m.year = $6 AND m.day >= $5 AND (m.start_ms, m.number) < ($1, $2)
    ORDER BY m.start_ms DESC, m.number DESC LIMIT $4
    """

  static func attendance(_ row: borrowing SQLRow) throws -> Attendance { try attendance(row, from: 0) }

  static func attendance(_ row: borrowing SQLRow, from first: Int) throws -> Attendance {
    let updateTime = ProtoTimestamp(millisecondsSince1970: try row.integer(first + 5))
    return try Attendance(
      memberId: AttendanceIDs.memberID(row.integer(first + 1)), meetingId: AttendanceIDs.meetingID(row.integer(first)),
      status: AttendanceStatus(rawValue: Int32(truncatingIfNeeded: row.integer(first + 2))),
      source: AttendanceSource(rawValue: Int32(truncatingIfNeeded: row.integer(first + 3))),
      recordedBy: row.text(first + 4), updateTime: updateTime, etag: Etag.text(version: row.integer(first + 6)),
      eventTime: row.integerIfPresent(first + 7).map { ProtoTimestamp(millisecondsSince1970: $0) } ?? updateTime)
  }

  /// The arguments of `upsertSQL`.
  static func values(_ attendance: Attendance, meeting: Int64, member: Int64, sequence: Int64) -> [SQLValue] {
    [
      .integer(meeting), .integer(member), .integer(Int64(attendance.status.rawValue)),
      .integer(Int64(attendance.source.rawValue)), .text(attendance.recordedBy),
      .integer(attendance.updateTime?.millisecondsSince1970 ?? 0), .integer(Etag.version(attendance.etag) ?? 1),
      attendance.eventTime == attendance.updateTime ? .null : .integer(attendance.eventTime?.millisecondsSince1970),
      .integer(sequence),
    ]
  }
}
