import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  static let initiationSQL = "SELECT initiation_day FROM members WHERE number = $1"

  func tally(ofMember member: Int64, year: Int64?, asOfDay: Int64?) async throws -> Tally {
    try await read { transaction in
      _ = try Self.initiation(of: member, transaction)
      var tally = Tally(try transaction.lodgeSettings().countingRules)
      if let asOfDay {
        try Self.add(member, year, through: asOfDay, to: &tally, transaction)
      } else {
        try Self.add(member, year, to: &tally, transaction)
      }
      return tally
    }
  }

  /// Returns the day of initiation; nil if unknown. Throws NOT_FOUND if there is no such member.
  private static func initiation(of member: Int64, _ transaction: ReadTransaction) throws -> Int64? {
    let found = try transaction.queryOne(initiationSQL, [.integer(member)]) { row in
      (day: try row.integerIfPresent(0), true)
    }
    guard let found else { throw RPCError.memberNotFound(AttendanceIDs.memberID(member), field: "memberId") }
    return found.day
  }

  private static func add(
    _ member: Int64, _ year: Int64?, to tally: inout Tally, _ transaction: ReadTransaction
  ) throws {
    let sql = year == nil ? MarkTable.ofMemberSQL : MarkTable.oneSQL
    var sum = tally
    try transaction.forEach(sql, year.map { [.integer(member), .integer($0)] } ?? [.integer(member)]) { row in
      row.withBytes(year == nil ? 1 : 0) { sum.add($0) }
      return true
    }
    tally = sum
  }

  private static func add(
    _ member: Int64, _ year: Int64?, through day: Int64, to tally: inout Tally, _ transaction: ReadTransaction
  ) throws {
    let lastYear = Int64(Days.year(day))
    let rows = try transaction.query(MarkTable.ofMemberSQL, [.integer(member)]) { row in
      (year: try row.integer(0), marks: try row.bytes(1))
    }
    for row in rows where row.year <= lastYear && (year == nil || year == row.year) {
      guard row.year == lastYear else {
        tally.add(row.marks)
        continue
      }
      let count = try transaction.queryOne(MarkTable.throughSQL, [.integer(lastYear), .integer(day)]) {
        try $0.integer(0)
      }
      tally.add(row.marks.prefix(Int(count ?? 0)))
    }
  }

  static func summarySQL(ofYear: Bool, includesInactive: Bool) -> String {
    """
    SELECT m.number, m.name, m.degree\(ofYear ? ", y.marks" : "") FROM members AS m
    \(ofYear ? "LEFT JOIN member_years AS y ON y.member_no = m.number AND y.year = $3" : "")
    WHERE \(includesInactive ? "" : "m.is_active = 1 AND ")m.name_key > $1 ORDER BY m.name_key LIMIT $2
    """
  }

  func summaries(_ query: PositionQuery, year: Int64?, includesInactive: Bool) async throws -> PageRows<MemberSummary> {
    var arguments: [SQLValue] = [.text(query.position.first ?? ""), .int(query.pageSize + 1)]
    if let year { arguments.append(.integer(year)) }
    return try await read { [arguments] transaction in
      let rules = try transaction.lodgeSettings().countingRules
      let sql = Self.summarySQL(ofYear: year != nil, includesInactive: includesInactive)
      var page = PageRows<MemberSummary>(countMax: query.pageSize)
      try transaction.forEach(sql, arguments) { row in
        var summary = MemberSummary(memberNumber: try row.integer(0))
        summary.memberId = AttendanceIDs.memberID(summary.memberNumber)
        summary.name = try row.text(1)
        summary.degree = Degree(rawValue: Int32(truncatingIfNeeded: try row.integer(2)))
        var tally = Tally(rules)
        if year != nil {
          row.withBytes(3) { tally.add($0) }
        } else {
          try Self.add(summary.memberNumber, nil, to: &tally, transaction)
        }
        summary.statistics = tally.statistics
        return page.add(summary, sizeBytes: 350 + summary.name.utf8.count)
      }
      return page
    }
  }

  static let upcomingSQL = """
    SELECT count(*) FROM meetings WHERE status = 1 AND start_ms >= $1 AND day >= $2
    """
  static let upcomingOfYearSQL = """
    SELECT count(*) FROM meetings WHERE year = $3 AND status = 1 AND start_ms >= $1 AND day >= $2
    """

  func forecast(ofMember member: Int64, year: Int64?) async throws -> (tally: Tally, upcoming: Int) {
    try await read { transaction in
      let initiationDay = try Self.initiation(of: member, transaction)
      var tally = Tally(try transaction.lodgeSettings().countingRules)
      try Self.add(member, year, to: &tally, transaction)
      let arguments: [SQLValue] = [.integer(clockMs()), .integer(initiationDay ?? .min)]
      let upcoming = try transaction.queryOne(
        year == nil ? Self.upcomingSQL : Self.upcomingOfYearSQL, arguments + (year.map { [.integer($0)] } ?? [])
      ) { try $0.integer(0) }
      return (tally, Int(upcoming ?? 0))
    }
  }
}
