import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// One caller's change in one transaction: hands out sequences, writes the audit log, and tells the board.
struct Ledger {
  let transaction: WriteTransaction
  let caller: Caller
  let nowMs: Int64
  let limits: AttendanceLimits
  let board: CommitBoard
  let heads: CommitHeads
  let random: @Sendable () -> UInt64

  static let countSQL = "UPDATE counters SET value = value + 1 WHERE name = $1 RETURNING value"

  /// The next value of a counter.
  func next(_ counter: String) throws -> Int64 {
    let value = try transaction.queryOne(Self.countSQL, [.text(counter)]) { try $0.integer(0) }
    guard let value else { throw StoreError(.corrupt, "the counter \(counter) is missing") }
    return value
  }

  /// The first of `count` sequences. Whatever carries a sequence is told to those who catch up.
  func sequences(_ count: Int) throws -> Int64 { try heads.sequences(count, transaction) }

  var nowTime: ProtoTimestamp { ProtoTimestamp(millisecondsSince1970: nowMs) }

  // MARK: - Objects

  func member(_ number: Int64, field: String) throws -> Member {
    let member = try transaction.queryOne(MemberRow.oneSQL, [.integer(number)], MemberRow.member)
    guard let member else { throw RPCError.memberNotFound(Numbers.memberID(number), field: field) }
    return member
  }

  func meeting(_ number: Int64, field: String) throws -> Meeting {
    let meeting = try transaction.queryOne(MeetingRow.oneSQL, [.integer(number)], MeetingRow.meeting)
    guard let meeting else { throw RPCError.meetingNotFound(Numbers.meetingID(number), field: field) }
    return meeting
  }

  func state(ofMeeting number: Int64, field: String) throws -> MeetingState {
    let state = try transaction.queryOne(MeetingRow.stateSQL, [.integer(number)], { try MeetingState($0) })
    guard let state else { throw RPCError.meetingNotFound(Numbers.meetingID(number), field: field) }
    return state
  }

  func attendance(meeting: Int64, member: Int64) throws -> Attendance? {
    try transaction.queryOne(
      AttendanceRow.oneSQL, [.integer(meeting), .integer(member)], AttendanceRow.attendance)
  }
}

extension ReadTransaction {
  static var settingsSQL: String { "SELECT value FROM attendance_meta WHERE name = 'settings'" }

  /// The lodge's settings, which opening the component has made.
  func lodgeSettings() throws -> LodgeSettings {
    let settings = try queryOne(Self.settingsSQL) { row in
      try StoredJSON.message(LodgeSettings.self, row, 0, "the lodge's settings")
    }
    guard let settings else { throw StoreError(.corrupt, "the lodge's settings are missing") }
    return settings
  }
}

extension LodgeSettings {
  /// The calendar that days are counted in.
  func calendar() throws -> LodgeCalendar {
    guard let calendar = LodgeCalendar(timeZone) else {
      throw StoreError(.invalidArgument, "the machine does not know the lodge's time zone")
    }
    return calendar
  }
}
