import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func presentPosition(of caller: AttendanceCaller) async throws -> ChangePosition {
    let last = try await readSingle { try $0.queryOne(CommitHeads.readSQL) { try $0.integer(0) } } ?? 0
    return ChangePosition(epoch: epoch, sequence: last, isStaff: caller.isStaff)
  }

  func position(_ resumeToken: String, by caller: AttendanceCaller) async throws -> ChangePosition {
    let position = try ChangePosition(resumeToken, of: caller)
    let (last, floor) = try await read { transaction in
      (
        try transaction.queryOne(CommitHeads.readSQL) { try $0.integer(0) } ?? 0,
        try transaction.queryOne(Tombstones.floorSQL) { try $0.integer(0) } ?? 0
      )
    }
    // A different epoch means another database. A sequence beyond the last one means that the database was restored
    // from a backup.
    guard position.epoch == epoch, position.sequence <= last, position.isStaff == caller.isStaff,
      position.sequence == 0 || position.sequence >= floor
    else {
      throw RPCError(
        .outOfRange, "the changes after this token are no longer known; begin again with from_start",
        .tokenTooOld,
        fieldViolations: [
          .init(field: "resumeToken", description: "is too old", reason: Reason.tokenTooOld.rawValue)
        ])
    }
    return position
  }

  func changes(
    after position: ChangePosition, by caller: AttendanceCaller, rowsMax: Int
  ) async throws -> [SequencedChange] {
    let rowsMax = max(0, rowsMax)
    let arguments: [SQLValue] = [.integer(position.sequence), .int(rowsMax)]
    return try await read { transaction in
      var found = try transaction.query(MemberRow.changedSQL, arguments, rowsMax: rowsMax) { row in
        SequencedChange(
          sequence: try row.integer(0), change: .member(try MemberRow.member(row, from: 1).seen(by: caller)))
      }
      found += try transaction.query(MeetingRow.changedSQL, arguments, rowsMax: rowsMax) { row in
        SequencedChange(sequence: try row.integer(0), change: .meeting(try MeetingRow.meeting(row, from: 1)))
      }
      let attendance = { (row: borrowing SQLRow) throws in
        SequencedChange(
          sequence: try row.integer(0), change: .attendance(try AttendanceRow.attendance(row, from: 1)))
      }
      if caller.isStaff {
        found += try transaction.query(AttendanceRow.changedSQL, arguments, rowsMax: rowsMax, attendance)
      } else if let member = caller.memberNumber {
        found += try transaction.query(
          AttendanceRow.changedOfMemberSQL, [.integer(position.sequence), .integer(member), .int(rowsMax)],
          rowsMax: rowsMax, attendance)
      }
      found += try Self.deletions(after: position.sequence, by: caller, rowsMax, transaction)
      found.sort { $0.sequence < $1.sequence }
      return Array(found.prefix(rowsMax))
    }
  }

  /// Returns at most `rowsMax` deletions that the caller may see. Skips records of other members.
  private static func deletions(
    after sequence: Int64, by caller: AttendanceCaller, _ rowsMax: Int, _ transaction: ReadTransaction
  ) throws -> [SequencedChange] {
    var found: [SequencedChange] = []
    // Bounded by the number of tombstones.
    try transaction.forEach(Tombstones.afterSQL, [.integer(sequence), .integer(.max)]) { row in
      guard found.count < rowsMax else { return false }
      let meetingID = AttendanceIDs.meetingID(try row.integer(1))
      guard let member = try row.integerIfPresent(2) else {
        found.append(
          SequencedChange(sequence: try row.integer(0), change: .meetingDeleted(.init(meetingId: meetingID))))
        return true
      }
      guard caller.isStaff || caller.memberNumber == member else { return true }
      found.append(
        SequencedChange(
          sequence: try row.integer(0),
          change: .attendanceDeleted(.init(meetingId: meetingID, memberId: AttendanceIDs.memberID(member)))))
      return true
    }
    return found
  }
}
