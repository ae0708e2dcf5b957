import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func record(
    _ entry: AttendanceEntry, meeting: Int64, eventMs: Int64?, etag: String, by caller: AttendanceCaller,
    idempotency: IdempotentRequest?
  ) async throws -> Attendance {
    try await change(by: caller, ahead: ahead(entry.member, meeting, idempotency), idempotency) { context in
      try Self.audited(
        context.record(entry.status, of: entry.member, atMeeting: meeting, .recorded, eventMs: eventMs, etag: etag),
        "attendance.record", context)
    }
  }

  private func ahead(_ member: Int64, _ meeting: Int64, _ idempotency: IdempotentRequest?) -> ReadAhead {
    let queries = [
      idempotency?.key.query, MemberState.query(member, atMeeting: meeting), SQLQuery(CommitHeads.readSQL),
      SQLQuery(AuditRow.lastSQL),
    ]
    // A record changes only its own member. The writes of a commit share the heads that they have read.
    return ReadAhead(subject: AttendanceIDs.memberID(member), queries.compactMap { $0 })
  }

  func record(
    _ entries: [AttendanceEntry], meeting: Int64, eventMs: Int64?, by caller: AttendanceCaller,
    idempotency: IdempotentRequest?
  ) async throws -> [Attendance] {
    let response: RecordMeetingAttendanceResponse = try await change(by: caller, idempotency) { context in
      let state = try context.state(ofMeeting: meeting, field: "meetingId")
      let first = try context.sequences(entries.count)
      var changes: [AttendanceChange] = []
      changes.reserveCapacity(entries.count)
      for (index, entry) in entries.enumerated() {
        changes.append(
          try context.record(
            entry.status, of: entry.member, at: state, .recorded, sequence: first + Int64(index), eventMs: eventMs,
            path: "entries[\(index)]."))
      }
      let changed = changes.filter(\.isChanged)
      if !changed.isEmpty {
        try context.audit(
          "attendance.recordMeeting", AttendanceIDs.meetingID(meeting), old: .of(changed.compactMap(\.old)),
          new: .of(changed.map(\.new)))
      }
      return .with { $0.attendances = changes.map(\.new) }
    }
    return response.attendances
  }

  /// Records one status and its audit entry.
  private static func recordOne(
    _ entry: AttendanceEntry, at state: MeetingState, _ source: AttendanceSource, eventMs: Int64? = nil,
    _ action: String, _ context: WriteContext
  ) throws -> Attendance {
    let change = try context.record(
      entry.status, of: entry.member, at: state, source, sequence: context.sequences(1), eventMs: eventMs)
    return try audited(change, action, context)
  }

  private static func audited(_ change: AttendanceChange, _ action: String, _ context: WriteContext) throws
    -> Attendance
  {
    if change.isChanged {
      try context.audit(
        action, "\(change.new.meetingId)/\(change.new.memberId)", old: .of(change.old.map { [$0] } ?? []),
        new: .of([change.new]))
    }
    return change.new
  }

  func confirm(
    _ status: AttendanceStatus, meeting: Int64, eventMs: Int64?, by member: Int64, _ caller: AttendanceCaller,
    idempotency: IdempotentRequest?
  ) async throws -> Attendance {
    try await change(by: caller, idempotency) { context in
      let state = try context.state(ofMeeting: meeting, field: "meetingId")
      if let late = try context.transaction.lodgeSettings().lateConfirmation,
        eventMs ?? context.nowMs > state.startMs + late.milliseconds
      {
        throw RPCError.refused(
          "meetingId", "members can confirm until \(late.seconds) s after the start", .confirmationLate)
      }
      return try Self.recordOne(
        AttendanceEntry(member: member, status: status), at: state, .selfValue, eventMs: eventMs,
        "attendance.confirm", context)
    }
  }

  func checkInCode(meeting: Int64) async throws -> (code: CheckInCode, text: String) {
    let state = try await readSingle { transaction in
      try transaction.queryOne(MeetingRow.stateSQL, [.integer(meeting)], { try MeetingState($0) })
    }
    guard let state else { throw RPCError.meetingNotFound(AttendanceIDs.meetingID(meeting), field: "meetingId") }
    guard state.status != .cancelled else {
      throw RPCError.refused("meetingId", "the meeting is cancelled", .meetingCancelled)
    }
    let code = CheckInCode(meeting: meeting, nowMs: clockMs())
    do throws(CryptoError) {
      return (code, try code.text(key: codeKey))
    } catch {
      throw RPCError(.internalError, "cannot create a check-in code")
    }
  }

  static let useCodeSQL = """
    INSERT INTO check_ins (meeting_no, member_no, step) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
    """

  func checkIn(
    _ text: String, by member: Int64, _ caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> CheckInResponse {
    try await change(by: caller, idempotency) { context in
      let code = try checkedCode(text, nowMs: context.nowMs)
      let meeting = try context.meeting(code.meeting, field: "code")
      let state = try context.state(ofMeeting: code.meeting, field: "code")
      let settings = try context.transaction.lodgeSettings()
      let opensMs = state.startMs - (settings.checkInOpensBefore?.milliseconds ?? 0)
      let closesMs = state.startMs + (settings.checkInClosesAfter?.milliseconds ?? 0)
      guard (opensMs...closesMs).contains(context.nowMs) else {
        throw RPCError.refused("code", "the meeting's check-in is not open", .checkInClosed)
      }
      let used: [SQLValue] = [.integer(code.meeting), .integer(member), .integer(code.step)]
      guard try context.transaction.executeCounting(Self.useCodeSQL, used) > 0 else {
        throw RPCError.refused("code", "was already used by this member", .codeUsed)
      }
      return try .with { response in
        response.attendance = try Self.recordOne(
          AttendanceEntry(member: member, status: .present), at: state, .checkIn, "attendance.checkIn", context)
        response.meetingDiscussion = meeting.discussion
      }
    }
  }

  private func checkedCode(_ text: String, nowMs: Int64) throws(RPCError) -> CheckInCode {
    let result: Result<CheckInCode, CheckInCode.Fault>
    do throws(CryptoError) {
      result = try CheckInCode.parse(text, key: codeKey, nowMs: nowMs)
    } catch {
      throw RPCError(.internalError, "the code cannot be checked")
    }
    switch result {
    case .success(let code): return code
    case .failure(.invalid):
      throw .invalidField("code", "is not a valid check-in code", .codeInvalid)
    case .failure(.expired): throw .refused("code", "is not currently valid", .codeExpired)
    }
  }

  func attendance(ofMeeting meeting: Int64, _ query: PositionQuery) async throws -> [Attendance] {
    let after = query.position.first.flatMap(Int64.init) ?? 0
    return try await readSingle { transaction in
      try transaction.query(
        AttendanceRow.eligibleSQL, [.integer(meeting), .integer(after), .int(query.pageSize + 1)],
        AttendanceRow.attendance)
    }
  }

  func counts(ofMeeting meeting: Int64) async throws -> AttendanceCounts {
    try await readSingle { transaction in
      var counts = AttendanceCounts()
      try transaction.forEach(AttendanceRow.countsSQL, [.integer(meeting)]) { row in
        let count = Int32(clamping: try row.integer(1))
        switch AttendanceStatus(rawValue: Int32(truncatingIfNeeded: try row.integer(0))) {
        case .present: counts.present = count
        case .absent: counts.absent = count
        case .excused: counts.excused = count
        default: counts.notConfirmed += count
        }
        return true
      }
      return counts
    }
  }

  func statuses(
    ofMeeting meeting: Int64, after member: Int64, rowsMax: Int
  ) async throws -> [(member: Int64, status: Int32)] {
    try await readSingle { transaction in
      try transaction.query(
        AttendanceRow.statusesSQL, [.integer(meeting), .integer(member), .int(rowsMax)], rowsMax: max(0, rowsMax)
      ) { (try $0.integer(0), Int32(truncatingIfNeeded: try $0.integer(1))) }
    }
  }

  func attendance(
    ofMember member: Int64, year: Int64?, sinceDay: Int64?, _ query: PositionQuery
  ) async throws -> [(attendance: Attendance, startMs: Int64)] {
    let (startMs, number) = Self.place(query)
    var arguments: [SQLValue] = [
      .integer(startMs), .integer(number), .integer(member), .int(query.pageSize + 1), .integer(sinceDay ?? .min),
    ]
    if let year { arguments.append(.integer(year)) }
    return try await readSingle { [arguments] transaction in
      try transaction.query(
        year == nil ? AttendanceRow.ofMemberSQL : AttendanceRow.ofMemberAndYearSQL, arguments
      ) { row in (try AttendanceRow.attendance(row), try row.integer(8)) }
    }
  }
}
