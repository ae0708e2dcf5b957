import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Computes a member's last presence and missed meetings since a day from the marks.
struct Absence: Sendable, Hashable {
  /// Eligible meetings since the day.
  private(set) var missed = 0
  /// Whether the member has been present since the day.
  private(set) var hasCome = false
  /// The last presence: a year and the position in it.
  private(set) var lastPresent: (year: Int64, ordinal: Int)? {
    get { lastYear.map { ($0, lastOrdinal) } }
    set {
      lastYear = newValue?.year
      lastOrdinal = newValue?.ordinal ?? 0
    }
  }
  private var lastYear: Int64?
  private var lastOrdinal = 0

  /// - Parameters:
  ///   - years: The marks of each year, oldest first.
  ///   - firstYear: The year of the day.
  ///   - before: The number of completed meetings of that year before the day.
  init(_ years: [(year: Int64, marks: [UInt8])], firstYear: Int64, before: Int) {
    for (year, marks) in years {
      for (ordinal, mark) in marks.enumerated() {
        let isSince = year > firstYear || (year == firstYear && ordinal >= before)
        if mark == Mark.present.rawValue {
          lastPresent = (year, ordinal)
          if isSince { hasCome = true }
        }
        if isSince, mark != Mark.ineligible.rawValue { missed += 1 }
      }
    }
  }
}

extension SQLiteAttendanceRepository {
  static let beforeSQL = "SELECT count(*) FROM meetings WHERE year = $1 AND ordinal IS NOT NULL AND day < $2"
  static let placeSQL = "SELECT number, start_ms FROM meetings WHERE year = $1 AND ordinal = $2"
  /// Active members after a name, with their marks since a year: a row for each year, and at least one.
  static let sinceYearSQL = """
    SELECT m.number, m.name, y.year, y.marks FROM members AS m
    LEFT JOIN member_years AS y ON y.member_no = m.number AND y.year >= $2
    WHERE m.is_active = 1 AND m.name_key > $1 ORDER BY m.name_key
    """

  private struct Candidate {
    var number: Int64
    var name: String
    /// Whether the member has been present since the day.
    var hasCome = false
  }

  func absentees(sinceDay: Int64, _ query: PositionQuery) async throws -> [Absentee] {
    let firstYear = Int64(Days.year(sinceDay))
    return try await read { transaction in
      let before = try transaction.queryOne(Self.beforeSQL, [.integer(firstYear), .integer(sinceDay)]) {
        Int(try $0.integer(0))
      }
      var absentees: [Absentee] = []
      var candidate: Candidate?
      func judge() throws {
        guard let judged = candidate, !judged.hasCome else { return }
        if let absentee = try Self.absentee(judged, firstYear, before: before ?? 0, transaction) {
          absentees.append(absentee)
        }
      }
      // Most members have been present; for them the latest years are enough, all read by one query.
      try transaction.forEach(Self.sinceYearSQL, [.text(query.position.first ?? ""), .integer(firstYear)]) { row in
        let number = try row.integer(0)
        if candidate?.number != number {
          try judge()
          candidate = Candidate(number: number, name: try row.text(1))
        }
        guard !row.isNull(2) else { return true }
        let skipped = try row.integer(2) == firstYear ? before ?? 0 : 0
        row.withBytes(3) { marks in
          if marks.dropFirst(skipped).contains(Mark.present.rawValue) { candidate?.hasCome = true }
        }
        return absentees.count <= query.pageSize
      }
      if absentees.count <= query.pageSize { try judge() }
      return absentees
    }
  }

  /// Returns nil if the member had no meeting to come to.
  private static func absentee(
    _ candidate: Candidate, _ firstYear: Int64, before: Int, _ transaction: ReadTransaction
  ) throws -> Absentee? {
    let years = try transaction.query(MarkTable.ofMemberSQL, [.integer(candidate.number)]) { row in
      (year: try row.integer(0), marks: try row.bytes(1))
    }
    let absence = Absence(years, firstYear: firstYear, before: before)
    guard !absence.hasCome, absence.missed > 0 else { return nil }
    var absentee = Absentee(
      memberId: AttendanceIDs.memberID(candidate.number), name: candidate.name,
      missedCount: Int32(clamping: absence.missed))
    if let (year, ordinal) = absence.lastPresent {
      let meeting = try transaction.queryOne(placeSQL, [.integer(year), .int(ordinal)]) { row in
        (number: try row.integer(0), startMs: try row.integer(1))
      }
      guard let meeting else { throw MarkTable.damaged }
      absentee.lastMeetingId = AttendanceIDs.meetingID(meeting.number)
      absentee.lastPresentTime = ProtoTimestamp(millisecondsSince1970: meeting.startMs)
    }
    return absentee
  }
}
