import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Rolls back the transaction and carries the response.
private struct ImportStopped: Error {
  var response: ImportCsvResponse
}

extension SQLiteAttendanceRepository {
  static let byStartSQL = "SELECT number, discussion FROM meetings WHERE start_ms = $1 ORDER BY number"

  func importRows(
    _ rows: ImportRows, isDryRun: Bool, by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> ImportCsvResponse {
    do {
      return try await change(by: caller, idempotency) { context in
        var writer = try CsvImportWriter(context)
        for row in rows.rows { try writer.take(row) }
        writer.response.rowCount = Int32(clamping: rows.rows.count)
        guard writer.response.errors.isEmpty, !isDryRun else { throw ImportStopped(response: writer.response) }
        writer.response.committed = true
        return writer.response
      }
    } catch let stopped as ImportStopped {
      return stopped.response
    }
  }
}

/// Writes the rows of a file in one transaction and collects their errors.
private struct CsvImportWriter {
  let context: WriteContext
  let calendar: LodgeCalendar
  var response = ImportCsvResponse()
  /// The meetings and members of the file's attendance rows: each pair may occur once.
  private var seen: Set<[Int64]> = []
  private var meetings: [ImportRows.MeetingName: MeetingState] = [:]

  init(_ context: WriteContext) throws {
    self.context = context
    calendar = try context.transaction.lodgeSettings().calendar()
  }

  mutating func take(_ row: ImportRows.Row) throws {
    do {
      switch row.content {
      case .member(let member, let fields, let isActive): try take(member, fields, isActive)
      case .meeting(let meeting, let fields): try take(meeting, fields)
      case .attendance(let member, let meeting, let status): try take(member, meeting, status)
      }
    } catch let failure as RPCError {
      let field = failure.fieldViolations.first?.field.split(separator: ".").last.map(String.init) ?? ""
      response.errorCount += 1
      guard response.errors.count < ImportRows.errorsMax else { return }
      response.errors.append(
        .of(row: row.number, column: CsvColumns.column(of: field), reason: failure.reason, failure.message))
    }
  }

  private mutating func take(_ draft: Member, _ fields: [MemberField], _ isActive: Bool?) throws {
    var number = draft.number
    if number == 0 {
      let key = SQLValue.text(MemberRules.key(of: draft.name))
      number = try context.transaction.queryOne(MemberRow.byNameSQL, [key]) { try $0.integer(0) } ?? 0
    }
    var violations = Violations()
    if number == 0 {
      MemberRules.checkEmailMarks(draft.email, "email", &violations)
      MemberRules.checkOrder(draft, "", &violations)
      try violations.check()
      var member = try context.create(draft)
      if isActive == false {
        let created = member
        member.active = false
        member = try context.rewrite(member, from: created)
      }
      try context.audit("member.import", member.id, old: nil, new: .of(member))
      response.createdCount += 1
      return
    }
    let found = try context.member(number, field: "id")
    guard found.eraseTime == nil else { throw RPCError.refused("id", "was erased", .memberErased) }
    var member = found
    for field in fields { field.copy(from: draft, to: &member) }
    if let isActive { member.active = isActive }
    guard member != found else { return response.unchangedCount += 1 }
    if member.email != found.email { MemberRules.checkEmailMarks(member.email, "email", &violations) }
    MemberRules.checkOrder(member, "", &violations)
    try violations.check()
    member = try context.rewrite(member, from: found)
    if !member.active { try context.endSessions(of: number) }
    try context.audit("member.import", member.id, old: .of(found), new: .of(member))
    response.updatedCount += 1
  }

  private mutating func take(_ draft: Meeting, _ fields: [MeetingField]) throws {
    var number = draft.number
    if number == 0 {
      let same = try context.transaction.query(
        SQLiteAttendanceRepository.byStartSQL, [.integer(draft.startMs)]
      ) { (number: try $0.integer(0), discussion: try $0.text(1)) }
      number = same.first { $0.discussion == draft.discussion }?.number ?? 0
    }
    if number == 0 {
      let meeting = try context.create(draft, calendar)
      try context.audit("meeting.import", meeting.id, old: nil, new: .of(meeting))
      response.createdCount += 1
      return
    }
    let found = try context.meeting(number, field: "id")
    var meeting = found
    for field in fields { field.copy(from: draft, to: &meeting) }
    guard meeting != found else { return response.unchangedCount += 1 }
    meeting = try context.rewrite(meeting, from: found, calendar)
    try context.audit("meeting.import", meeting.id, old: .of(found), new: .of(meeting))
    response.updatedCount += 1
  }

  private mutating func take(
    _ member: ImportRows.MemberName, _ meeting: ImportRows.MeetingName, _ status: AttendanceStatus
  ) throws {
    let state = try state(of: meeting)
    let number = try self.number(of: member)
    guard seen.insert([state.number, number]).inserted else {
      throw RPCError.invalidField("member_id", "the member and meeting must not be repeated", reason: "ROW_REPEATED")
    }
    let change = try context.record(
      status, of: number, at: state, .import, sequence: context.sequences(1), path: "")
    guard change.isChanged else { return response.unchangedCount += 1 }
    try context.audit(
      "attendance.import", "\(change.new.meetingId)/\(change.new.memberId)",
      old: .of(change.old.map { [$0] } ?? []), new: .of([change.new]))
    if change.old == nil { response.createdCount += 1 } else { response.updatedCount += 1 }
  }

  private func number(of member: ImportRows.MemberName) throws -> Int64 {
    switch member {
    case .number(let number): return number
    case .key(let key):
      let found = try context.transaction.queryOne(MemberRow.byNameSQL, [.text(key)]) { try $0.integer(0) }
      guard let found else { throw RPCError.memberNotFound(key, field: "member_name") }
      return found
    }
  }

  private mutating func state(of meeting: ImportRows.MeetingName) throws -> MeetingState {
    if let known = meetings[meeting] { return known }
    let state: MeetingState
    switch meeting {
    case .number(let number): state = try context.state(ofMeeting: number, field: "meeting_id")
    case .startMs(let startMs):
      let found = try context.transaction.query(
        SQLiteAttendanceRepository.byStartSQL, [.integer(startMs)]
      ) { try $0.integer(0) }
      guard let number = found.first else { throw RPCError.meetingNotFound("", field: "meeting_start_time") }
      guard found.count == 1 else {
        throw RPCError.invalidField(
          "meeting_start_time", "several meetings begin at this time; give meeting_id", reason: "MEETING_AMBIGUOUS")
      }
      state = try context.state(ofMeeting: number, field: "meeting_start_time")
    }
    meetings[meeting] = state
    return state
  }
}
