import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  /// Rows of the audit log that are held at once.
  static let auditRowsMax = 1_000
  static let auditBytesMax = 4 << 20

  func auditEntries(_ query: PositionQuery, subject: String?) throws -> PageRows<AuditEntry> {
    var arguments: [SQLValue] = [
      .integer(query.position.first.flatMap(Int64.init) ?? .max), .int(query.pageSize + 1),
    ]
    if let subject { arguments.append(.text(subject)) }
    return try readSingle { transaction in
      var page = PageRows<AuditEntry>(countMax: query.pageSize)
      try transaction.forEach(subject == nil ? AuditRow.listSQL : AuditRow.ofSubjectSQL, arguments) { row in
        let row = try AuditRow(row)
        return page.add(try row.shownEntry(), sizeBytes: row.hasLongValues ? 500 : 500 + row.valueSizeBytes)
      }
      return page
    }
  }

  func auditRows(after sequence: Int64) throws -> [AuditRow] {
    try readSingle { transaction in
      var page = PageRows<AuditRow>(countMax: Self.auditRowsMax, sizeBytesMax: Self.auditBytesMax)
      try transaction.forEach(AuditRow.afterSQL, [.integer(sequence), .int(Self.auditRowsMax)]) { row in
        let row = try AuditRow(row)
        return page.add(row, sizeBytes: 500 + row.valueSizeBytes)
      }
      return page.items
    }
  }

  func undo(_ sequence: Int64, by caller: Caller) async throws -> AuditEntry {
    try await change(by: caller) { ledger in
      let row = try ledger.transaction.queryOne(AuditRow.oneSQL, [.integer(sequence)], { try AuditRow($0) })
      guard let row else {
        throw RPCError.missing("audit entry", String(sequence), field: "sequence", .auditEntryNotFound)
      }
      return try Undo(ledger: ledger, row: row, entry: row.entry()).run().shownEntry()
    }
  }
}

/// Puts back what one entry of the audit log changed.
struct Undo {
  let ledger: Ledger
  let row: AuditRow
  let entry: AuditEntry

  /// Throws ABORTED, reason `CHANGED_SINCE`, when what the entry left is no longer there, and FAILED_PRECONDITION, reason
  /// `NOT_UNDOABLE`.
  func run() throws -> AuditRow {
    let (old, new) = (entry.oldState, entry.newState)
    if let before = old?.member, let after = new?.member { return try restore(before, from: after) }
    if old?.meeting != nil || new?.meeting != nil {
      return try restore(old?.meeting, old?.attendances ?? [], from: new?.meeting)
    }
    let (before, after) = (old?.attendances ?? [], new?.attendances ?? [])
    if !before.isEmpty || !after.isEmpty { return try restore(before, from: after) }
    throw RPCError.refused("sequence", "an entry of this kind cannot be undone", .notUndoable)
  }

  private var changedSince: RPCError {
    RPCError(
      .aborted, "\(entry.subject) was changed since: undo the later change first",
      reason: Reason.changedSince.rawValue,
      fieldViolations: [
        .init(field: "sequence", description: "was changed since", reason: Reason.changedSince.rawValue)
      ])
  }

  private func log(old: AuditState?, new: AuditState?) throws -> AuditRow {
    try ledger.audit("undo", entry.subject, old: old, new: new, undoOf: entry.sequence)
  }

  private func restore(_ before: Member, from after: Member) throws -> AuditRow {
    let current = try ledger.member(after.number, field: "sequence")
    // A PIN has a secret of its own and no place in an entry's values.
    guard current.etag == after.etag, current.eraseTime == nil, before.hasPin == after.hasPin else {
      throw changedSince
    }
    let restored = try ledger.rewrite(before, from: current)
    if !restored.active { try ledger.endSessions(of: restored.number) }
    return try log(old: .of(current), new: .of(restored))
  }

  private func restore(
    _ before: Meeting?, _ attendances: [Attendance], from after: Meeting?
  ) throws -> AuditRow {
    let calendar = try ledger.transaction.lodgeSettings().calendar()
    guard let after else {
      guard let before else { throw RPCError.refused("sequence", "the entry has no values", .notUndoable) }
      return try revive(before, attendances, calendar)
    }
    let found = try ledger.transaction.queryOne(MeetingRow.oneSQL, [.integer(after.number)], MeetingRow.meeting)
    guard let current = found, current.etag == after.etag else { throw changedSince }
    if let before {
      let restored = try ledger.rewrite(before, from: current, calendar)
      return try log(old: .of(current), new: .of(restored))
    }
    // A meeting that was brought back goes with what came back with it.
    let removed = try ledger.delete(current)
    guard removed == entry.newState?.attendances.sorted(by: Self.isBefore) ?? [] else {
      throw RPCError.refused("sequence", "the meeting has other attendance by now", .meetingHasAttendance)
    }
    return try log(old: .of(current, removed), new: nil)
  }

  /// Brings a deleted meeting back, under its number and with what was recorded.
  private func revive(
    _ before: Meeting, _ attendances: [Attendance], _ calendar: LodgeCalendar
  ) throws -> AuditRow {
    let found = try ledger.transaction.queryOne(MeetingRow.oneSQL, [.integer(before.number)], MeetingRow.meeting)
    guard found == nil else { throw changedSince }
    var draft = before
    draft.etag = Etag.text(version: (Etag.version(before.etag) ?? 0) + 1)
    let meeting = try ledger.insert(draft, calendar)
    try put(attendances)
    return try log(old: nil, new: .of(meeting, attendances))
  }

  private func restore(_ before: [Attendance], from after: [Attendance]) throws -> AuditRow {
    let old = Dictionary(before.map { ($0.memberId, $0) }, uniquingKeysWith: { first, _ in first })
    var (current, restored): ([Attendance], [Attendance]) = ([], [])
    for entry in after {
      guard let (meeting, member) = Self.numbers(entry),
        let found = try ledger.attendance(meeting: meeting, member: member), found.etag == entry.etag
      else { throw changedSince }
      current.append(found)
      let state = try ledger.state(ofMeeting: meeting, field: "sequence")
      let initiationDay = try self.initiationDay(member)
      guard var attendance = old[entry.memberId] else {
        try ledger.remove(member: member, state, initiationDay: initiationDay)
        continue
      }
      attendance.etag = Etag.text(version: (Etag.version(found.etag) ?? 0) + 1)
      attendance.updateTime = ledger.nowTime
      try ledger.put(
        attendance, member: member, state, initiationDay: initiationDay, sequence: ledger.sequences(1))
      restored.append(attendance)
    }
    // What the entry removed, beside what it changed.
    let left = Set(after.map(\.memberId))
    let removed = before.filter { !left.contains($0.memberId) }
    for attendance in removed {
      guard let (meeting, member) = Self.numbers(attendance),
        try ledger.attendance(meeting: meeting, member: member) == nil
      else { throw changedSince }
    }
    try put(removed)
    restored = (restored + removed).sorted(by: Self.isBefore)
    return try log(old: .of(current), new: .of(restored))
  }

  private func put(_ attendances: [Attendance]) throws {
    for attendance in attendances {
      guard let (meeting, member) = Self.numbers(attendance) else { throw changedSince }
      try ledger.put(
        attendance, member: member, ledger.state(ofMeeting: meeting, field: "sequence"),
        initiationDay: initiationDay(member), sequence: ledger.sequences(1))
    }
  }

  private func initiationDay(_ member: Int64) throws -> Int64? {
    Days.parse(try ledger.member(member, field: "sequence").initiationDate)
  }

  /// In the order in which a meeting's records are read.
  private static func isBefore(_ one: Attendance, _ other: Attendance) -> Bool {
    Numbers.member(one.memberId) ?? 0 < Numbers.member(other.memberId) ?? 0
  }

  private static func numbers(_ attendance: Attendance) -> (meeting: Int64, member: Int64)? {
    guard let meeting = Numbers.meeting(attendance.meetingId), let member = Numbers.member(attendance.memberId)
    else { return nil }
    return (meeting, member)
  }
}
