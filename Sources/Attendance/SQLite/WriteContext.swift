import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The context of one caller's writes in a transaction: hands out sequences, writes the audit log, and records whose
/// watches to wake.
struct WriteContext {
  let transaction: WriteTransaction
  let caller: AttendanceCaller
  let nowMs: Int64
  let limits: AttendanceLimits
  let notifier: RosterNotifier
  let heads: CommitHeads
  /// Nil if no notices are sent.
  let noticeSignal: CommitSignal?
  /// Nil if no widgets are reloaded.
  let widgetSignal: CommitSignal?
  let random: @Sendable () -> UInt64

  static let countSQL = "UPDATE counters SET value = value + 1 WHERE name = $1 RETURNING value"

  /// Increments a counter and returns its value.
  func next(_ counter: String) throws -> Int64 {
    let value = try transaction.queryOne(Self.countSQL, [.text(counter)]) { try $0.integer(0) }
    guard let value else { throw StoreError(.corrupt, "the counter \(counter) is missing") }
    return value
  }

  /// Reserves sequences and returns the first of them. Clients that catch up receive every row with a sequence.
  func sequences(_ count: Int) throws -> Int64 { try heads.sequences(count, transaction) }

  var nowTime: ProtoTimestamp { ProtoTimestamp(millisecondsSince1970: nowMs) }

  // MARK: - Objects

  func member(_ number: Int64, field: String) throws -> Member {
    let member = try transaction.queryOne(MemberRow.oneSQL, [.integer(number)], MemberRow.member)
    guard let member else { throw RPCError.memberNotFound(AttendanceIDs.memberID(number), field: field) }
    return member
  }

  func meeting(_ number: Int64, field: String) throws -> Meeting {
    let meeting = try transaction.queryOne(MeetingRow.oneSQL, [.integer(number)], MeetingRow.meeting)
    guard let meeting else { throw RPCError.meetingNotFound(AttendanceIDs.meetingID(number), field: field) }
    return meeting
  }

  func state(ofMeeting number: Int64, field: String) throws -> MeetingState {
    let state = try transaction.queryOne(MeetingRow.stateSQL, [.integer(number)], { try MeetingState($0) })
    guard let state else { throw RPCError.meetingNotFound(AttendanceIDs.meetingID(number), field: field) }
    return state
  }

  func attendance(meeting: Int64, member: Int64) throws -> Attendance? {
    try transaction.queryOne(
      AttendanceRow.oneSQL, [.integer(meeting), .integer(member)], AttendanceRow.attendance)
  }
}

extension ReadTransaction {
  static var settingsSQL: String { "SELECT value FROM attendance_meta WHERE name = 'settings'" }

  /// Returns the lodge's settings, which exist once the component is open.
  func lodgeSettings() throws -> LodgeSettings {
    let settings = try queryOne(Self.settingsSQL) { row in
      try StoredJSON.message(LodgeSettings.self, row, 0, "the lodge's settings")
    }
    guard var settings else { throw StoreError(.corrupt, "the lodge's settings are missing") }
    LodgeRules.complete(&settings)
    return settings
  }
}

extension LodgeSettings {
  /// The calendar that determines the days of meetings.
  func calendar() throws -> LodgeCalendar {
    guard let calendar = LodgeCalendar(timeZone) else {
      throw StoreError(.invalidArgument, "the lodge's time zone is unknown on this machine")
    }
    return calendar
  }
}
