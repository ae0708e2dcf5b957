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
  static let namesSQL = """
    SELECT number, name FROM members WHERE is_active = 1 AND name_key > $1 ORDER BY name_key
    """

  static let sinceYearSQL = "SELECT year, marks FROM member_years WHERE member_no = $1 AND year >= $2 ORDER BY year"

  /// Whether a member has been present since a day: in `firstYear` after `before` completed meetings, or later.
  private static func hasCome(
    _ member: Int64, _ firstYear: Int64, before: Int, _ transaction: ReadTransaction
  ) throws -> Bool {
    var hasCome = false
    try transaction.forEach(sinceYearSQL, [.integer(member), .integer(firstYear)]) { row in
      let skipped = try row.integer(0) == firstYear ? before : 0
      row.withBytes(1) { hasCome = $0.dropFirst(skipped).contains(Mark.present.rawValue) }
      return !hasCome
    }
    return hasCome
  }

  func absentees(sinceDay: Int64, _ query: PositionQuery) async throws -> [Absentee] {
    let firstYear = Int64(Days.year(sinceDay))
    return try await read { transaction in
      let before = try transaction.queryOne(Self.beforeSQL, [.integer(firstYear), .integer(sinceDay)]) {
        Int(try $0.integer(0))
      }
      var absentees: [Absentee] = []
      try transaction.forEach(Self.namesSQL, [.text(query.position.first ?? "")]) { row in
        let number = try row.integer(0)
        // Most members have been present; for them the latest years are enough.
        guard try !Self.hasCome(number, firstYear, before: before ?? 0, transaction) else { return true }
        let years = try transaction.query(MarkTable.ofMemberSQL, [.integer(number)]) { row in
          (year: try row.integer(0), marks: try row.bytes(1))
        }
        let absence = Absence(years, firstYear: firstYear, before: before ?? 0)
        guard !absence.hasCome, absence.missed > 0 else { return true }
        var absentee = Absentee(
          memberId: AttendanceIDs.memberID(number), name: try row.text(1), missedCount: Int32(clamping: absence.missed))
        if let (year, ordinal) = absence.lastPresent {
          let meeting = try transaction.queryOne(Self.placeSQL, [.integer(year), .int(ordinal)]) { row in
            (number: try row.integer(0), startMs: try row.integer(1))
          }
          guard let meeting else { throw MarkTable.damaged }
          absentee.lastMeetingId = AttendanceIDs.meetingID(meeting.number)
          absentee.lastPresentTime = ProtoTimestamp(millisecondsSince1970: meeting.startMs)
        }
        absentees.append(absentee)
        return absentees.count <= query.pageSize
      }
      return absentees
    }
  }
}
