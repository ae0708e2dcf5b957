import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func position(_ since: String, by caller: Caller) throws -> ChangePosition {
    let start = ChangePosition(epoch: epoch, sequence: 0, isStaff: caller.isStaff)
    guard !since.isEmpty else { return start }
    let position = try ChangePosition(since, of: caller)
    let (last, floor) = try read { transaction in
      (
        try transaction.queryOne(CommitHeads.readSQL) { try $0.integer(0) } ?? 0,
        try transaction.queryOne(Tombstones.floorSQL) { try $0.integer(0) } ?? 0
      )
    }
    // Another epoch is another database in this one's place; a sequence ahead is one put back from a backup.
    guard position.epoch == epoch, position.sequence <= last, position.isStaff == caller.isStaff,
      position.sequence == 0 || position.sequence >= floor
    else {
      throw RPCError(
        .outOfRange, "what changed after this token cannot be told: begin anew without one",
        reason: Reason.tokenTooOld.rawValue,
        fieldViolations: [
          .init(field: "since", description: "is too old", reason: Reason.tokenTooOld.rawValue)
        ])
    }
    return position
  }

  func changes(
    after position: ChangePosition, by caller: Caller, rowsMax: Int
  ) throws -> [SequencedChange] {
    let rowsMax = max(0, rowsMax)
    let arguments: [SQLValue] = [.integer(position.sequence), .int(rowsMax)]
    return try read { transaction in
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

  /// At most `rowsMax` that the caller may see: records of others are passed over.
  private static func deletions(
    after sequence: Int64, by caller: Caller, _ rowsMax: Int, _ transaction: ReadTransaction
  ) throws -> [SequencedChange] {
    var found: [SequencedChange] = []
    // Bounded by the tombstones there are.
    try transaction.forEach(Tombstones.afterSQL, [.integer(sequence), .integer(.max)]) { row in
      guard found.count < rowsMax else { return false }
      let meetingID = Numbers.meetingID(try row.integer(1))
      guard let member = try row.integerIfPresent(2) else {
        found.append(SequencedChange(sequence: try row.integer(0), change: .deletedMeetingId(meetingID)))
        return true
      }
      guard caller.isStaff || caller.memberNumber == member else { return true }
      var gone = Attendance()
      gone.meetingId = meetingID
      gone.memberId = Numbers.memberID(member)
      found.append(SequencedChange(sequence: try row.integer(0), change: .deletedAttendance(gone)))
      return true
    }
    return found
  }

  /// Forgets deletions before a time, at most `rowsMax`, and notes how far, for those who come back later. Answers how
  /// many those were.
  func dropTombstones(beforeMs: Int64, rowsMax: Int) async throws -> Int {
    try await storeWrite { transaction in
      var through: Int64?
      var count = 0
      try transaction.forEach(Tombstones.oldestSQL, [.int(rowsMax)]) { row in
        guard try row.integer(1) < beforeMs else { return false }
        through = try row.integer(0)
        count += 1
        return true
      }
      guard let through else { return 0 }
      try transaction.execute(Tombstones.setFloorSQL, [.integer(through)])
      try transaction.execute(Tombstones.dropSQL, [.integer(through)])
      return count
    }
  }
}
