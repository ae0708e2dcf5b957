import CampanileAPI
import CampanileRPC
import CampanileService

/// Keeps members, meetings, attendance, what follows from them, and the log of their changes.
///
/// Arguments and the caller's role are checked before (see Domain/ and the services); what depends on what is kept is checked
/// here. A change, its statistics, its audit entry and its sequence are one transaction, durable when the function returns.
/// Failures are `RPCError`s. Lists answer at most one more than the page's size, so that the caller knows whether there is
/// another page.
protocol AttendanceRepository: MembersRepository, MeetingsRepository, RecordsRepository, StatisticsRepository,
  SessionsRepository, LodgeRepository, AuditRepository, Sendable
{
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }
}

protocol MembersRepository {
  func createMember(_ draft: Member, by caller: Caller, repeatable: RepeatableRequest?) async throws -> Member
  func member(_ number: Int64) throws -> Member
  /// In the order of their names; a position is the key of one.
  func members(_ query: PositionQuery, includesInactive: Bool) throws -> PageRows<Member>
  /// Throws ABORTED, reason `ETAG_MISMATCH`, when `change.etag` is set and not the current one.
  func updateMember(_ change: Member, fields: [MemberField], by caller: Caller) async throws -> Member
  func setActive(_ number: Int64, _ isActive: Bool, by caller: Caller) async throws -> Member
  /// Nil takes the PIN away. Ends the member's sessions but `keptSession`.
  func setPin(_ number: Int64, hash: String?, keptSession: [UInt8]?, by caller: Caller) async throws
  /// Throws FAILED_PRECONDITION, reason `NAME_NOT_CONFIRMED`.
  func eraseMember(
    _ number: Int64, confirmedName: String, by caller: Caller
  ) async throws -> (member: Member, redacted: Int)
}

protocol MeetingsRepository {
  func createMeeting(_ draft: Meeting, by caller: Caller, repeatable: RepeatableRequest?) async throws -> Meeting
  func meeting(_ number: Int64) throws -> Meeting
  /// The newest first; a position is a start time and a number.
  func meetings(_ query: PositionQuery, year: Int64?, status: MeetingStatus?) throws -> PageRows<Meeting>
  func upcomingMeetings(count: Int) throws -> [Meeting]
  func updateMeeting(_ change: Meeting, fields: [MeetingField], by caller: Caller) async throws -> Meeting
  func cancelMeeting(_ number: Int64, by caller: Caller) async throws -> Meeting
  /// Answers how many records went with it.
  func deleteMeeting(_ number: Int64, isForced: Bool, etag: String, by caller: Caller) async throws -> Int
  func createFeed(name: String, secretHash: [UInt8], by caller: Caller) async throws -> CalendarFeed
  func feeds(of owner: String) throws -> [CalendarFeed]
  func deleteFeed(_ id: String, by caller: Caller) async throws
  /// The meetings of a feed, those from `sinceMs` on. Throws NOT_FOUND for a secret that is none.
  func calendarMeetings(secretHash: [UInt8], sinceMs: Int64) throws -> [Meeting]
}

/// One member's status, as a batch has it.
struct AttendanceEntry: Sendable, Hashable {
  var member: Int64
  var status: AttendanceStatus
}

protocol RecordsRepository {
  func record(
    _ entry: AttendanceEntry, meeting: Int64, etag: String, by caller: Caller, repeatable: RepeatableRequest?
  ) async throws -> Attendance
  /// All or none.
  func record(
    _ entries: [AttendanceEntry], meeting: Int64, by caller: Caller, repeatable: RepeatableRequest?
  ) async throws -> [Attendance]
  /// Throws FAILED_PRECONDITION, reason `CONFIRMATION_LATE`.
  func confirm(
    _ status: AttendanceStatus, meeting: Int64, by member: Int64, _ caller: Caller, repeatable: RepeatableRequest?
  ) async throws -> Attendance
  /// A new code for a meeting whose check-in is, or will be, open.
  func checkInCode(meeting: Int64) throws -> (code: CheckInCode, text: String)
  func checkIn(
    _ text: String, by member: Int64, _ caller: Caller, repeatable: RepeatableRequest?
  ) async throws -> CheckInResponse
  func attendance(ofMeeting meeting: Int64, _ query: PositionQuery) throws -> [Attendance]
  func counts(ofMeeting meeting: Int64) throws -> AttendanceCounts
  /// Status numbers by the numbers of the members, those after one.
  func statuses(ofMeeting meeting: Int64, after member: Int64, rowsMax: Int) throws -> [(member: Int64, status: Int32)]
  /// The newest meeting first, each with its start time; a position is a start time and a number.
  func attendance(
    ofMember member: Int64, year: Int64?, _ query: PositionQuery
  ) throws -> [(attendance: Attendance, startMs: Int64)]
  /// What is new for a caller after a position, oldest first.
  func changes(after position: ChangePosition, by caller: Caller, rowsMax: Int) throws -> [SequencedChange]
  /// Where a caller stands. Throws INVALID_ARGUMENT for what is no token of theirs, OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func position(_ since: String, by caller: Caller) throws -> ChangePosition
}

protocol StatisticsRepository {
  /// `asOfDay` nil: of all there is.
  func tally(ofMember member: Int64, year: Int64?, asOfDay: Int64?) throws -> Tally
  /// In the order of the names; a position is the key of one.
  func summaries(_ query: PositionQuery, year: Int64?, includesInactive: Bool) throws -> PageRows<MemberSummary>
  func absentees(sinceDay: Int64, _ query: PositionQuery) throws -> [Absentee]
  /// The tally and how many meetings are to come.
  func forecast(ofMember member: Int64, year: Int64?) throws -> (tally: Tally, upcoming: Int)
}

/// What a login needs to know of a member.
struct LoginMember: Sendable, Hashable {
  var number: Int64
  var isActive: Bool
  var pinHash: String?
}

protocol SessionsRepository {
  /// Who has a session. Throws UNAUTHENTICATED, reason `SESSION_INVALID` or `SESSION_EXPIRED`.
  func caller(sessionHash: [UInt8], address: String) throws -> Caller
  /// The active member whom a user of the gateway is; nil when there is none.
  func caller(user: String, address: String) throws -> Caller?
  func loginMember(nameKey: String) throws -> LoginMember?
  func pinHash(of member: Int64) throws -> String?
  /// Throws UNAUTHENTICATED, reason `CREDENTIALS_INVALID`, when the member is no longer active.
  func openSession(
    of member: Int64, tokenHash: [UInt8], lifetime: SessionLifetime, address: String
  ) async throws -> (member: Member, session: MemberSession)
  func renewSession(_ tokenHash: [UInt8], lifetime: SessionLifetime) async throws -> MemberSession
  func endSession(_ tokenHash: [UInt8]) async throws
  func sessions(of member: Int64) throws -> [MemberSession]
  func revokeSessions(of member: Int64, by caller: Caller) async throws -> Int
}

protocol LodgeRepository {
  func lodgeSettings() throws -> LodgeSettings
  func updateSettings(_ change: LodgeSettings, fields: [LodgeField], by caller: Caller) async throws -> LodgeSettings
  /// Takes the rows in, all or none; what is wrong is in the answer. Answers an earlier reply to the same request.
  func importRows(
    _ rows: ImportRows, isDryRun: Bool, by caller: Caller, repeatable: RepeatableRequest?
  ) async throws -> ImportCsvResponse
}

protocol AuditRepository {
  /// The newest first; a position is a sequence. Values of more than 1 MiB are left out.
  func auditEntries(_ query: PositionQuery, subject: String?) throws -> PageRows<AuditEntry>
  /// The oldest first, as many as take about 4 MiB; none after the last.
  func auditRows(after sequence: Int64) throws -> [AuditRow]
  func undo(_ sequence: Int64, by caller: Caller) async throws -> AuditEntry
}
