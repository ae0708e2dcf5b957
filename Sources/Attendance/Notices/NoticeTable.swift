import CampanileAPI
import CampanileService
import CampanileStore

/// A notice about a meeting that is handed out to the members, a page of members at a time.
struct NoticeJob: Sendable, Hashable {
  var meeting: Int64
  var kind: NoticeKind
  /// Distinguishes the notices of one kind about one meeting: the version of a change, or the start of a reminder.
  var revision: Int64
  var dueMs: Int64
  /// The number of the last member who was considered.
  var afterMember: Int64 = 0
  /// The meeting at the time of the change. A deleted meeting exists nowhere else.
  var startMs: Int64
  /// The start before the change.
  var oldStartMs: Int64?
  var timeZone: String
  var discussion: String
  var location: String

  init(_ meeting: Meeting, _ kind: NoticeKind, revision: Int64, dueMs: Int64, oldStartMs: Int64? = nil) {
    self.meeting = meeting.number
    self.kind = kind
    self.revision = revision
    self.dueMs = dueMs
    startMs = meeting.startMs
    self.oldStartMs = oldStartMs
    timeZone = meeting.timeZone
    discussion = meeting.discussion
    location = meeting.location
  }

  init(_ row: borrowing SQLRow) throws {
    meeting = try row.integer(0)
    kind = NoticeKind(rawValue: Int32(truncatingIfNeeded: try row.integer(1)))
    revision = try row.integer(2)
    dueMs = try row.integer(3)
    afterMember = try row.integer(4)
    startMs = try row.integer(5)
    oldStartMs = try row.integerIfPresent(6)
    timeZone = try row.text(7)
    discussion = try row.text(8)
    location = try row.text(9)
  }

  /// The arguments of `NoticeTable.putSQL`.
  var values: [SQLValue] {
    [
      .integer(meeting), .integer(Int64(kind.rawValue)), .integer(revision), .integer(dueMs), .integer(afterMember),
      .integer(startMs), .integer(oldStartMs), .text(timeZone), .text(discussion), .text(location),
    ]
  }

  /// The id by which the notifications service recognizes a repeated notice to a user, for example `t_3.2.17`.
  var id: String { "\(AttendanceIDs.meetingID(meeting)).\(kind.rawValue).\(revision)" }
}

/// A member who may receive notices, and whose widgets are reloaded.
struct NoticeMember: Sendable, Hashable {
  var number: Int64
  var user: String
  var initiationDay: Int64?
  var refused: RefusedNotices

  init(_ row: borrowing SQLRow) throws {
    number = try row.integer(0)
    user = try row.text(1)
    initiationDay = try row.integerIfPresent(2)
    refused = RefusedNotices(bits: try row.integer(3))
  }
}

/// Statements of the notices that wait to be handed out.
enum NoticeTable {
  private static let columns = """
    meeting_no, kind, revision, due_ms, after_member, start_ms, old_start_ms, time_zone, discussion, location
    """
  static let putSQL = """
    INSERT INTO notice_jobs (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (meeting_no, kind) DO UPDATE SET revision = excluded.revision, due_ms = excluded.due_ms,
      after_member = excluded.after_member, start_ms = excluded.start_ms, old_start_ms = excluded.old_start_ms,
      time_zone = excluded.time_zone, discussion = excluded.discussion, location = excluded.location
    """
  static let dueSQL = "SELECT \(columns) FROM notice_jobs WHERE due_ms <= $1 ORDER BY due_ms, meeting_no, kind LIMIT 1"
  static let nextSQL = "SELECT due_ms FROM notice_jobs ORDER BY due_ms LIMIT 1"
  static let continueSQL = "UPDATE notice_jobs SET after_member = $3 WHERE meeting_no = $1 AND kind = $2"
  static let dropSQL = "DELETE FROM notice_jobs WHERE meeting_no = $1 AND kind = $2"
  /// Drops the notices of a meeting that a newer one of another kind replaces. Absences are independent of them.
  static let dropOthersSQL = "DELETE FROM notice_jobs WHERE meeting_no = $1 AND kind <> $2 AND kind <> 4"
  /// The next scheduled meeting without a reminder for its start.
  static let reminderSQL = """
    SELECT \(MeetingRow.columns) FROM meetings
    WHERE status = 1 AND start_ms > $1 AND (reminded_start_ms IS NULL OR reminded_start_ms <> start_ms)
    ORDER BY start_ms, number LIMIT 1
    """
  static let remindedSQL = "UPDATE meetings SET reminded_start_ms = start_ms WHERE number = $1"
  /// Marks a completed meeting as counted. Changes no row if it already is.
  static let countedSQL = "UPDATE meetings SET absences_counted = 1 WHERE number = $1 AND absences_counted = 0"
  static let membersSQL = """
    SELECT number, user_id, initiation_day, refused_notices FROM members
    WHERE number > $1 AND is_active = 1 AND user_id IS NOT NULL ORDER BY number LIMIT $2
    """
  static let marksSQL = "SELECT year, marks FROM member_years WHERE member_no = $1 AND year <= $2 ORDER BY year DESC"
  static let bucketSQL = "SELECT bucket_id FROM notice_buckets WHERE user_id = $1"
  static let putBucketSQL = """
    INSERT INTO notice_buckets (user_id, bucket_id) VALUES ($1, $2)
    ON CONFLICT (user_id) DO UPDATE SET bucket_id = excluded.bucket_id
    """
  static let dropBucketSQL = "DELETE FROM notice_buckets WHERE user_id = $1"
}
