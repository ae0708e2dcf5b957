import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// Statements of `member_years` and of the ordinals of meetings.
enum MarkTable {
  static let oneSQL = "SELECT marks FROM member_years WHERE member_no = $1 AND year = $2"
  static let setSQL = "UPDATE member_years SET marks = $3 WHERE member_no = $1 AND year = $2"
  static let putSQL = """
    INSERT INTO member_years (member_no, year, marks) VALUES ($1, $2, $3)
    ON CONFLICT (member_no, year) DO UPDATE SET marks = excluded.marks
    """
  static let dropSQL = "DELETE FROM member_years WHERE member_no = $1"
  static let ofMemberSQL = "SELECT year, marks FROM member_years WHERE member_no = $1 ORDER BY year"
  /// Selects every member's marks of a year and status at one meeting.
  static let ofYearSQL = """
    SELECT m.number, m.initiation_day, y.marks, a.status FROM members AS m
    LEFT JOIN member_years AS y ON y.member_no = m.number AND y.year = $1
    LEFT JOIN attendance AS a ON a.meeting_no = $2 AND a.member_no = m.number
    """
  /// Selects the completed meetings, oldest first, with one member's status at each.
  static let recountSQL = """
    SELECT g.year, g.day, a.status FROM meetings AS g
    LEFT JOIN attendance AS a ON a.meeting_no = g.number AND a.member_no = $1
    WHERE g.ordinal IS NOT NULL ORDER BY g.year, g.ordinal
    """
  static let completedSQL = """
    SELECT number, day FROM meetings WHERE year = $1 AND ordinal IS NOT NULL ORDER BY ordinal
    """
  static let statusesSQL = "SELECT member_no, status FROM attendance WHERE meeting_no = $1"
  static let dropYearSQL = "DELETE FROM member_years WHERE member_no = $1 AND year = $2"
  static let ordinalSQL = """
    SELECT count(*) FROM meetings WHERE year = $1 AND ordinal IS NOT NULL AND (start_ms, number) < ($2, $3)
    """
  static let countSQL = "SELECT count(*) FROM meetings WHERE year = $1 AND ordinal IS NOT NULL"
  static let throughSQL = "SELECT count(*) FROM meetings WHERE year = $1 AND ordinal IS NOT NULL AND day <= $2"
  static let makeRoomSQL = "UPDATE meetings SET ordinal = ordinal + 1 WHERE year = $1 AND ordinal >= $2"
  static let closeGapSQL = "UPDATE meetings SET ordinal = ordinal - 1 WHERE year = $1 AND ordinal > $2"
  static let setOrdinalSQL = "UPDATE meetings SET ordinal = $2 WHERE number = $1"

  static var damaged: StoreError { StoreError(.corrupt, "a member's statistics do not match the meetings") }

  static func status(_ row: borrowing SQLRow, _ column: Int) throws -> AttendanceStatus? {
    try row.integerIfPresent(column).map { AttendanceStatus(rawValue: Int32(truncatingIfNeeded: $0)) }
  }
}

/// A member's marks of a year and status at one meeting.
private struct YearRow {
  var member: Int64
  var initiationDay: Int64?
  var marks: Marks?
  var status: AttendanceStatus?

  init(_ row: borrowing SQLRow) throws {
    member = try row.integer(0)
    initiationDay = try row.integerIfPresent(1)
    marks = try row.bytesIfPresent(2).map { Marks(bytes: $0) }
    status = try MarkTable.status(row, 3)
  }
}

/// Updates the statistics in the transaction of the change that affects them.
extension WriteContext {
  /// Adds a meeting to the statistics of every member, at its position among the completed meetings of its year.
  func beginCounting(_ meeting: Int64, startMs: Int64, day: Int64, year: Int64) throws {
    let count = try number(MarkTable.countSQL, [.integer(year)])
    guard count < limits.completedPerYearMax else {
      throw RPCError.exhausted(
        "a year may have at most \(limits.completedPerYearMax) completed meetings", .meetingsExhausted,
        limit: limits.completedPerYearMax)
    }
    let ordinal = try number(MarkTable.ordinalSQL, [.integer(year), .integer(startMs), .integer(meeting)])
    try transaction.execute(MarkTable.makeRoomSQL, [.integer(year), .int(ordinal)])
    try transaction.execute(MarkTable.setOrdinalSQL, [.integer(meeting), .int(ordinal)])
    for row in try rows(ofYear: year, meeting) {
      var marks = row.marks ?? Marks()
      guard marks.insert(Mark(row.status, day: day, initiationDay: row.initiationDay), at: ordinal) else {
        throw MarkTable.damaged
      }
      try transaction.execute(
        row.marks == nil ? MarkTable.putSQL : MarkTable.setSQL,
        [.integer(row.member), .integer(year), .blob(marks.bytes)])
    }
  }

  /// Removes a meeting from the statistics.
  func endCounting(_ state: MeetingState) throws {
    guard let ordinal = state.ordinal else { return }
    try transaction.execute(MarkTable.setOrdinalSQL, [.integer(state.number), .null])
    try transaction.execute(MarkTable.closeGapSQL, [.integer(state.year), .int(ordinal)])
    for row in try rows(ofYear: state.year, state.number) {
      guard var marks = row.marks, marks.remove(at: ordinal) else { throw MarkTable.damaged }
      try transaction.execute(
        MarkTable.setSQL, [.integer(row.member), .integer(state.year), .blob(marks.bytes)])
    }
  }

  /// Updates the statistics after a change of a member's status at a meeting. Does nothing unless the meeting is
  /// completed.
  func mark(
    _ member: Int64, initiationDay: Int64?, _ status: AttendanceStatus?, at state: MeetingState, known: Marks? = nil
  ) throws {
    guard let ordinal = state.ordinal else { return }
    let key: [SQLValue] = [.integer(member), .integer(state.year)]
    let found = try known ?? transaction.queryOne(MarkTable.oneSQL, key) { Marks(bytes: try $0.bytes(0)) }
    guard var marks = found, marks.set(Mark(status, day: state.day, initiationDay: initiationDay), at: ordinal) else {
      throw MarkTable.damaged
    }
    guard marks != found else { return }
    try transaction.execute(MarkTable.setSQL, key + [.blob(marks.bytes)])
  }

  /// Recounts all years of a member: for a new member, or after a change of the initiation.
  func recount(_ member: Int64, initiationDay: Int64?) throws {
    var years: [(year: Int64, marks: [Mark])] = []
    try transaction.forEach(MarkTable.recountSQL, [.integer(member)]) { row in
      let year = try row.integer(0)
      let mark = Mark(try MarkTable.status(row, 2), day: try row.integer(1), initiationDay: initiationDay)
      if years.last?.year == year {
        years[years.count - 1].marks.append(mark)
      } else {
        years.append((year, [mark]))
      }
      return true
    }
    try transaction.execute(MarkTable.dropSQL, [.integer(member)])
    for (year, marks) in years {
      try transaction.execute(MarkTable.putSQL, [.integer(member), .integer(year), .blob(Marks(marks).bytes)])
    }
  }

  /// Recounts one year of every member. Reads meeting by meeting, the order of the stored records: with many members,
  /// this is ten times faster than member by member. Holds one byte for each member and completed meeting of the year.
  func recount(year: Int64, of members: [(number: Int64, initiationDay: Int64?)]) throws {
    let meetings = try transaction.query(MarkTable.completedSQL, [.integer(year)]) { row in
      (number: try row.integer(0), day: try row.integer(1))
    }
    guard !meetings.isEmpty else {
      for member in members {
        try transaction.execute(MarkTable.dropYearSQL, [.integer(member.number), .integer(year)])
      }
      return
    }
    let places = Dictionary(members.enumerated().map { ($1.number, $0) }, uniquingKeysWith: { first, _ in first })
    var marks = [UInt8](repeating: Mark.unconfirmed.rawValue, count: members.count * meetings.count)
    for (ordinal, meeting) in meetings.enumerated() {
      for (place, member) in members.enumerated() {
        marks[place * meetings.count + ordinal] =
          Mark(nil, day: meeting.day, initiationDay: member.initiationDay).rawValue
      }
      try transaction.forEach(MarkTable.statusesSQL, [.integer(meeting.number)]) { row in
        guard let place = places[try row.integer(0)] else { return true }
        let mark = Mark(
          try MarkTable.status(row, 1), day: meeting.day, initiationDay: members[place].initiationDay)
        marks[place * meetings.count + ordinal] = mark.rawValue
        return true
      }
    }
    for (place, member) in members.enumerated() {
      let own = marks[(place * meetings.count)..<((place + 1) * meetings.count)]
      try transaction.execute(
        MarkTable.putSQL, [.integer(member.number), .integer(year), .blob(Array(own))])
    }
  }

  func number(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int {
    Int(try transaction.queryOne(sql, arguments) { try $0.integer(0) } ?? 0)
  }

  private func rows(ofYear year: Int64, _ meeting: Int64) throws -> [YearRow] {
    try transaction.query(
      MarkTable.ofYearSQL, [.integer(year), .integer(meeting)], rowsMax: AttendanceLimits.objectsCeiling,
      { try YearRow($0) })
  }
}
