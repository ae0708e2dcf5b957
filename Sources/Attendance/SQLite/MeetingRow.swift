import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Statements of `meetings` and the mapping of its rows.
enum MeetingRow {
  static let columns = """
    number, start_ms, year, time_zone, discussion, type, status, location, has_dinner, introduced_by, notes,
    cover_image_url, created_at_ms, updated_at_ms, version
    """
  static let insertSQL = """
    INSERT INTO meetings (\(columns), day, sequence)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
    """
  static let updateSQL = """
    UPDATE meetings SET start_ms = $2, year = $3, time_zone = $4, discussion = $5, type = $6, status = $7,
      location = $8, has_dinner = $9, introduced_by = $10, notes = $11, cover_image_url = $12, created_at_ms = $13,
      updated_at_ms = $14, version = $15, day = $16, sequence = $17
    WHERE number = $1
    """
  static let oneSQL = "SELECT \(columns) FROM meetings WHERE number = $1"
  static let countSQL = "SELECT count(*) FROM meetings"
  static let changedSQL = "SELECT sequence, \(columns) FROM meetings WHERE sequence > $1 ORDER BY sequence LIMIT $2"
  static let upcomingSQL = """
    SELECT \(columns) FROM meetings WHERE status = 1 AND (start_ms, number) > ($1, $2)
    ORDER BY start_ms, number LIMIT $3
    """
  static let calendarSQL = """
    SELECT \(columns) FROM meetings WHERE start_ms >= $1 ORDER BY start_ms, number LIMIT $2
    """
  static let yearsSQL = """
    SELECT year, count(*), count(*) FILTER (WHERE status = 2) FROM meetings WHERE year < $1
    GROUP BY year ORDER BY year DESC LIMIT $2
    """
  static let stateSQL = "SELECT number, start_ms, day, year, ordinal, status FROM meetings WHERE number = $1"

  /// Returns the statement that lists meetings before a start time and number, newest first.
  static func listSQL(ofYear: Bool, ofStatus: Bool) -> String {
    let conditions =
      (ofYear ? "year = $4 AND " : "") + (ofStatus ? "status = $\(ofYear ? 5 : 4) AND " : "")
      + "(start_ms, number) < ($1, $2)"
    return "SELECT \(columns) FROM meetings WHERE \(conditions) ORDER BY start_ms DESC, number DESC LIMIT $3"
  }

  static func meeting(_ row: borrowing SQLRow) throws -> Meeting { try meeting(row, from: 0) }

  /// Decodes a meeting. `first` is the column of the number.
  static func meeting(_ row: borrowing SQLRow, from first: Int) throws -> Meeting {
    let number = try row.integer(first)
    return try Meeting(
      id: AttendanceIDs.meetingID(number), number: number,
      startTime: ProtoTimestamp(millisecondsSince1970: row.integer(first + 1)), timeZone: row.text(first + 3),
      discussion: row.text(first + 4), type: MeetingType(rawValue: Int32(truncatingIfNeeded: row.integer(first + 5))),
      status: MeetingStatus(rawValue: Int32(truncatingIfNeeded: row.integer(first + 6))), location: row.text(first + 7),
      hasDinner: row.bool(first + 8), introducedBy: row.text(first + 9), notes: row.text(first + 10),
      coverImageUrl: row.text(first + 11), createTime: ProtoTimestamp(millisecondsSince1970: row.integer(first + 12)),
      updateTime: ProtoTimestamp(millisecondsSince1970: row.integer(first + 13)),
      etag: Etag.text(version: row.integer(first + 14)), year: Int32(clamping: row.integer(first + 2)))
  }

  /// Returns the arguments of `insertSQL` and `updateSQL`. The meeting's year must be the year of `day`.
  static func values(_ meeting: Meeting, day: Int64, sequence: Int64) -> [SQLValue] {
    [
      .integer(meeting.number), .integer(meeting.startMs), .integer(Int64(meeting.year)), .text(meeting.timeZone),
      .text(meeting.discussion), .integer(Int64(meeting.type.rawValue)), .integer(Int64(meeting.status.rawValue)),
      .text(meeting.location), .bool(meeting.hasDinner), .text(meeting.introducedBy), .text(meeting.notes),
      .text(meeting.coverImageUrl), .integer(meeting.createTime?.millisecondsSince1970 ?? 0),
      .integer(meeting.updateTime?.millisecondsSince1970 ?? 0), .integer(Etag.version(meeting.etag) ?? 1),
      .integer(day), .integer(sequence),
    ]
  }
}

extension Meeting {
  var startMs: Int64 { startTime?.millisecondsSince1970 ?? 0 }

  /// The approximate size in a page.
  var sizeBytes: Int {
    500 + discussion.utf8.count + location.utf8.count + introducedBy.utf8.count + notes.utf8.count
      + coverImageUrl.utf8.count
  }
}

/// The facts about a meeting that recording and counting need.
struct MeetingState: Sendable, Hashable {
  var number: Int64
  var startMs: Int64
  var day: Int64
  var year: Int64
  /// The position among the completed meetings of its year; nil unless the meeting is completed.
  var ordinal: Int?
  var status: MeetingStatus

  /// Decodes the state. `first` is the column of the number.
  init(_ row: borrowing SQLRow, from first: Int = 0) throws {
    number = try row.integer(first)
    startMs = try row.integer(first + 1)
    day = try row.integer(first + 2)
    year = try row.integer(first + 3)
    ordinal = try row.integerIfPresent(first + 4).map { Int($0) }
    status = MeetingStatus(rawValue: Int32(truncatingIfNeeded: try row.integer(first + 5)))
  }
}
