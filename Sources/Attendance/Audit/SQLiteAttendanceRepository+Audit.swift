import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  /// The maximum number of audit rows held in memory at once.
  static let auditRowsMax = 1_000
  static let auditBytesMax = 4 << 20

  func auditEntries(_ query: PositionQuery, subject: String?) async throws -> PageRows<AuditEntry> {
    var arguments: [SQLValue] = [
      .integer(query.position.first.flatMap(Int64.init) ?? .max), .int(query.pageSize + 1),
    ]
    if let subject { arguments.append(.text(subject)) }
    return try await readSingle { [arguments] transaction in
      var page = PageRows<AuditEntry>(countMax: query.pageSize)
      try transaction.forEach(subject == nil ? AuditRow.listSQL : AuditRow.ofSubjectSQL, arguments) { row in
        let row = try AuditRow(row)
        return page.add(try row.shownEntry(), sizeBytes: row.hasLongValues ? 500 : 500 + row.valueSizeBytes)
      }
      return page
    }
  }

  func auditRows(after sequence: Int64) async throws -> [AuditRow] {
    try await readSingle { transaction in
      var page = PageRows<AuditRow>(countMax: Self.auditRowsMax, sizeBytesMax: Self.auditBytesMax)
      try transaction.forEach(AuditRow.afterSQL, [.integer(sequence), .int(Self.auditRowsMax)]) { row in
        let row = try AuditRow(row)
        return page.add(row, sizeBytes: 500 + row.valueSizeBytes)
      }
      return page.items
    }
  }

  func undo(
    _ sequence: Int64, by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> UndoChangeResponse {
    try await change(by: caller, idempotency) { context in
      let row = try context.transaction.queryOne(AuditRow.oneSQL, [.integer(sequence)], { try AuditRow($0) })
      guard let row else {
        throw RPCError.missing("audit entry", String(sequence), field: "sequence", .auditEntryNotFound)
      }
      return UndoChangeResponse(entry: try Undo(context: context, row: row, entry: row.entry()).run().shownEntry())
    }
  }
}

/// Reverts the change of one audit entry.
struct Undo {
  let context: WriteContext
  let row: AuditRow
  let entry: AuditEntry

  /// Applies the reversal and returns its audit entry.
  ///
  /// - Throws: ABORTED, reason `CHANGED_SINCE`, if the objects have changed since the entry; FAILED_PRECONDITION,
  ///   reason `NOT_UNDOABLE`.
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
      .aborted, "\(entry.subject) has changed since this entry; undo the later change first",
      .changedSince,
      fieldViolations: [
        .init(field: "sequence", description: "has changed since this entry", reason: Reason.changedSince.rawValue)
      ])
  }

  private func log(old: AuditState?, new: AuditState?) throws -> AuditRow {
    try context.audit("undo", entry.subject, old: old, new: new, undoOf: entry.sequence)
  }

  private func restore(_ before: Member, from after: Member) throws -> AuditRow {
    let current = try context.member(after.number, field: "sequence")
    // Changes of a PIN cannot be undone, because an entry's values do not contain it.
    guard current.etag == after.etag, current.eraseTime == nil, before.hasPin == after.hasPin else {
      throw changedSince
    }
    let restored = try context.rewrite(before, from: current)
    if !restored.active { try context.endSessions(of: restored.number) }
    return try log(old: .of(current), new: .of(restored))
  }

  private func restore(
    _ before: Meeting?, _ attendances: [Attendance], from after: Meeting?
  ) throws -> AuditRow {
    let calendar = try context.transaction.lodgeSettings().calendar()
    guard let after else {
      guard let before else { throw RPCError.refused("sequence", "the entry has no values", .notUndoable) }
      return try revive(before, attendances, calendar)
    }
    let found = try context.transaction.queryOne(MeetingRow.oneSQL, [.integer(after.number)], MeetingRow.meeting)
    guard let current = found, current.etag == after.etag else { throw changedSince }
    if let before {
      let restored = try context.rewrite(before, from: current, calendar)
      return try log(old: .of(current), new: .of(restored))
    }
    // Undoing the restoration of a meeting deletes the meeting with the records restored with it.
    let removed = try context.delete(current)
    guard removed == entry.newState?.attendances.sorted(by: Self.isBefore) ?? [] else {
      throw RPCError.refused("sequence", "the meeting has other attendance records now", .meetingHasAttendance)
    }
    return try log(old: .of(current, removed), new: nil)
  }

  /// Restores a deleted meeting with its number and its attendance records.
  private func revive(
    _ before: Meeting, _ attendances: [Attendance], _ calendar: LodgeCalendar
  ) throws -> AuditRow {
    let found = try context.transaction.queryOne(MeetingRow.oneSQL, [.integer(before.number)], MeetingRow.meeting)
    guard found == nil else { throw changedSince }
    var draft = before
    draft.etag = Etag.text(version: (Etag.version(before.etag) ?? 0) + 1)
    let meeting = try context.insert(draft, calendar)
    try put(attendances)
    return try log(old: nil, new: .of(meeting, attendances))
  }

  private func restore(_ before: [Attendance], from after: [Attendance]) throws -> AuditRow {
    let old = Dictionary(before.map { ($0.memberId, $0) }, uniquingKeysWith: { first, _ in first })
    var (current, restored): ([Attendance], [Attendance]) = ([], [])
    for entry in after {
      guard let (meeting, member) = Self.numbers(entry),
        let found = try context.attendance(meeting: meeting, member: member), found.etag == entry.etag
      else { throw changedSince }
      current.append(found)
      let state = try context.state(ofMeeting: meeting, field: "sequence")
      let initiationDay = try self.initiationDay(member)
      guard var attendance = old[entry.memberId] else {
        try context.remove(member: member, state, initiationDay: initiationDay)
        continue
      }
      attendance.etag = Etag.text(version: (Etag.version(found.etag) ?? 0) + 1)
      attendance.updateTime = context.nowTime
      try context.put(
        attendance, member: member, state, initiationDay: initiationDay, sequence: context.sequences(1))
      restored.append(attendance)
    }
    // Records that the entry removed.
    let left = Set(after.map(\.memberId))
    let removed = before.filter { !left.contains($0.memberId) }
    for attendance in removed {
      guard let (meeting, member) = Self.numbers(attendance),
        try context.attendance(meeting: meeting, member: member) == nil
      else { throw changedSince }
    }
    try put(removed)
    restored = (restored + removed).sorted(by: Self.isBefore)
    return try log(old: .of(current), new: .of(restored))
  }

  private func put(_ attendances: [Attendance]) throws {
    for attendance in attendances {
      guard let (meeting, member) = Self.numbers(attendance) else { throw changedSince }
      try context.put(
        attendance, member: member, context.state(ofMeeting: meeting, field: "sequence"),
        initiationDay: initiationDay(member), sequence: context.sequences(1))
    }
  }

  private func initiationDay(_ member: Int64) throws -> Int64? {
    Days.parse(try context.member(member, field: "sequence").initiationDate)
  }

  /// Compares by member number, the order in which a meeting's records are read.
  private static func isBefore(_ one: Attendance, _ other: Attendance) -> Bool {
    AttendanceIDs.member(one.memberId) ?? 0 < AttendanceIDs.member(other.memberId) ?? 0
  }

  private static func numbers(_ attendance: Attendance) -> (meeting: Int64, member: Int64)? {
    guard let meeting = AttendanceIDs.meeting(attendance.meetingId),
      let member = AttendanceIDs.member(attendance.memberId)
    else { return nil }
    return (meeting, member)
  }
}
