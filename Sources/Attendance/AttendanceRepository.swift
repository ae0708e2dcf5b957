import CampanileAPI
import CampanileRPC
import CampanileService

/// Stores members, meetings, attendance, the derived statistics, and the audit log.
///
/// Callers check arguments and the caller's role first (see Domain/ and the services). The repository checks everything
/// that depends on stored data. A change, its statistics, its audit entry and its sequence are one transaction, durable
/// when the function returns. Errors are `RPCError`s. Lists return at most one row more than the page size, so that the
/// caller knows whether there is another page.
protocol AttendanceRepository: MembersRepository, MeetingsRepository, RecordsRepository, StatisticsRepository,
  SessionsRepository, LodgeRepository, AuditRepository, Sendable
{
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }
}

protocol MembersRepository {
  func createMember(_ draft: Member, by caller: AttendanceCaller, idempotency: IdempotentRequest?) async throws
    -> Member
  func member(_ number: Int64) async throws -> Member
  /// Returns members ordered by name. A position is a name key.
  func members(_ query: PositionQuery, includesInactive: Bool) async throws -> PageRows<Member>
  /// Throws ABORTED, reason `ETAG_MISMATCH`, if `change.etag` is set and differs from the current etag.
  func updateMember(_ change: Member, fields: [MemberField], by caller: AttendanceCaller) async throws -> Member
  func setActive(_ number: Int64, _ isActive: Bool, by caller: AttendanceCaller) async throws -> Member
  /// Sets a member's PIN, or removes it if `hash` is nil. Ends the member's sessions, revokes the device tokens and
  /// deletes the recorded failures.
  func setPin(_ number: Int64, hash: String?, by caller: AttendanceCaller) async throws
  /// Replaces the PIN of a member who has proved the old one.
  ///
  /// The caller's session and device token stay valid. A hard stop stays in force.
  ///
  /// - Throws: UNAUTHENTICATED, reason `CREDENTIALS_INVALID`, if the PIN is no longer `oldHash`.
  func changePin(
    from oldHash: String?, to hash: String, _ number: Int64, _ attempt: PinAttempt, by caller: AttendanceCaller
  ) async throws
  /// Erases a member's personal data. Has no effect on an erased member.
  ///
  /// - Throws: ABORTED, reason `ETAG_MISMATCH`, if `etag` is set and differs from the current etag;
  ///   FAILED_PRECONDITION, reason `NAME_NOT_CONFIRMED`, if `confirmedName` is not the member's name.
  func eraseMember(
    _ number: Int64, confirmedName: String, etag: String, by caller: AttendanceCaller
  ) async throws -> (member: Member, redacted: Int)
}

protocol MeetingsRepository {
  func createMeeting(_ draft: Meeting, by caller: AttendanceCaller, idempotency: IdempotentRequest?) async throws
    -> Meeting
  func meeting(_ number: Int64) async throws -> Meeting
  /// Returns meetings, newest first. A position is a start time and a number.
  func meetings(_ query: PositionQuery, year: Int64?, status: MeetingStatus?) async throws -> PageRows<Meeting>
  /// Returns the years that have meetings, newest first. A position is a year.
  func meetingYears(_ query: PositionQuery) async throws -> [MeetingYear]
  /// Returns the scheduled meetings that have not begun, the earliest first. A position is a start time and a number.
  func upcomingMeetings(_ query: PositionQuery) async throws -> PageRows<Meeting>
  func updateMeeting(_ change: Meeting, fields: [MeetingField], by caller: AttendanceCaller) async throws -> Meeting
  func cancelMeeting(_ number: Int64, by caller: AttendanceCaller) async throws -> Meeting
  /// Deletes a meeting.
  ///
  /// - Returns: The number of attendance records deleted with it.
  func deleteMeeting(_ number: Int64, isForced: Bool, etag: String, by caller: AttendanceCaller) async throws -> Int
  /// Creates a feed.
  ///
  /// - Returns: The feed, and whether it is new. A repeated request returns the feed of the first one, whose secret is
  ///   not `secretHash`.
  func createFeed(
    name: String, secretHash: [UInt8], by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> (feed: CalendarFeed, isNew: Bool)
  /// Returns a caller's feeds, ordered by id, which is the position.
  func feeds(of owner: String, _ query: PositionQuery) async throws -> [CalendarFeed]
  func deleteFeed(_ id: String, by caller: AttendanceCaller) async throws
  /// Returns the meetings of a feed from `sinceMs` on. Throws NOT_FOUND if no feed has this secret.
  func calendarMeetings(secretHash: [UInt8], sinceMs: Int64) async throws -> [Meeting]
}

/// A member's status at a meeting.
struct AttendanceEntry: Sendable, Hashable {
  var member: Int64
  var status: AttendanceStatus
}

/// A time of decision that is nil means now.
protocol RecordsRepository {
  func record(
    _ entry: AttendanceEntry, meeting: Int64, eventMs: Int64?, etag: String, by caller: AttendanceCaller,
    idempotency: IdempotentRequest?
  ) async throws -> Attendance
  /// Records all entries or none.
  func record(
    _ entries: [AttendanceEntry], meeting: Int64, eventMs: Int64?, by caller: AttendanceCaller,
    idempotency: IdempotentRequest?
  ) async throws -> [Attendance]
  /// Throws FAILED_PRECONDITION, reason `CONFIRMATION_LATE`.
  func confirm(
    _ status: AttendanceStatus, meeting: Int64, eventMs: Int64?, by member: Int64, _ caller: AttendanceCaller,
    idempotency: IdempotentRequest?
  ) async throws -> Attendance
  /// Returns a new code for a meeting. Check-in need not be open yet.
  func checkInCode(meeting: Int64) async throws -> (code: CheckInCode, text: String)
  func checkIn(
    _ text: String, by member: Int64, _ caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> CheckInResponse
  /// Returns the records of the members who had been initiated by then.
  func attendance(ofMeeting meeting: Int64, _ query: PositionQuery) async throws -> [Attendance]
  func counts(ofMeeting meeting: Int64) async throws -> AttendanceCounts
  /// Returns member numbers and status numbers, ordered by member, starting after `member`.
  func statuses(ofMeeting meeting: Int64, after member: Int64, rowsMax: Int) async throws -> [(
    member: Int64, status: Int32
  )]
  /// Returns records with their meetings' start times, newest meeting first. A position is a start time and a number.
  ///
  /// - Parameter sinceDay: The first day of the meetings; nil means all.
  func attendance(
    ofMember member: Int64, year: Int64?, sinceDay: Int64?, _ query: PositionQuery
  ) async throws -> [(attendance: Attendance, startMs: Int64)]
  /// Returns the changes visible to a caller after a position, oldest first.
  func changes(after position: ChangePosition, by caller: AttendanceCaller, rowsMax: Int) async throws
    -> [SequencedChange]
  /// Returns a caller's position after all committed changes.
  func presentPosition(of caller: AttendanceCaller) async throws -> ChangePosition
  /// Returns the position in a token.
  ///
  /// - Throws: INVALID_ARGUMENT, reason `RESUME_TOKEN_INVALID`, if it is not a token of this caller; OUT_OF_RANGE,
  ///   reason `TOKEN_TOO_OLD`.
  func position(_ resumeToken: String, by caller: AttendanceCaller) async throws -> ChangePosition
}

protocol StatisticsRepository {
  /// Returns a member's tally through `asOfDay`; nil includes all meetings.
  func tally(ofMember member: Int64, year: Int64?, asOfDay: Int64?) async throws -> Tally
  /// Returns summaries ordered by name. A position is a name key.
  func summaries(_ query: PositionQuery, year: Int64?, includesInactive: Bool) async throws -> PageRows<MemberSummary>
  func absentees(sinceDay: Int64, _ query: PositionQuery) async throws -> [Absentee]
  /// Returns the tally and the number of upcoming meetings.
  func forecast(ofMember member: Int64, year: Int64?) async throws -> (tally: Tally, upcoming: Int)
}

/// The facts about a member that a login needs.
struct LoginMember: Sendable, Hashable {
  var number: Int64
  var isActive: Bool
  var pinHash: String?
}

/// A granted login and the data to store for it.
struct LoginGrant: Sendable {
  var subject: LoginSubject
  var origin: LoginOrigin
  var member: Int64
  /// The stored hash that the PIN was compared with; nil for a login by name alone.
  var pinHash: String?
  var sessionHash: [UInt8]
  /// The hash of a device token; nil for a login by name alone, which proves nothing about the device.
  var device: [UInt8]?
  /// Whether the login came from a device with this token. Otherwise the token is new.
  var isKnownDevice: Bool
  var address: String
}

protocol SessionsRepository {
  /// Returns the owner of a session. Throws UNAUTHENTICATED, reason `SESSION_INVALID` or `SESSION_EXPIRED`.
  func caller(sessionHash: [UInt8], address: String) async throws -> AttendanceCaller
  /// Returns the active member linked to a user of the gateway; nil if there is none.
  func caller(user: String, address: String) async throws -> AttendanceCaller?
  func loginMember(nameKey: String) async throws -> LoginMember?
  func pinHash(of member: Int64) async throws -> String?
  /// Returns the member that a device token is valid for; nil if there is none.
  func deviceMember(_ tokenHash: [UInt8]) async throws -> Int64?
  /// Counts an attempt before its PIN is checked: for the device if it has a valid token, otherwise for the name.
  ///
  /// - Parameter checksPIN: Whether a PIN is checked. Otherwise the attempt counts in the throttle only.
  func countAttempt(_ attempt: PinAttempt, checksPIN: Bool) async throws -> AttemptVerdict
  /// Removes an attempt whose PIN was not checked from the throttle.
  func withdrawAttempt(_ attempt: PinAttempt) async throws
  /// Returns whether the subject has logged in from the origin of the attempt before.
  func isKnown(_ attempt: PinAttempt) async throws -> Bool
  /// Returns the number of members whose PIN no longer logs in from unknown devices.
  func lockedMemberCount() async throws -> Int
  /// Returns a member's devices, latest login first.
  func devices(of member: Int64) async throws -> [LoginDevice]
  /// Opens a session, and withdraws the attempt from the counts of failures.
  ///
  /// - Throws: UNAUTHENTICATED, reason `CREDENTIALS_INVALID`, if the member is no longer active or the PIN has changed.
  func openSession(
    _ grant: LoginGrant, lifetime: SessionLifetime
  ) async throws -> (member: Member, session: MemberSession)
  func renewSession(_ tokenHash: [UInt8], lifetime: SessionLifetime) async throws -> MemberSession
  func endSession(_ tokenHash: [UInt8]) async throws
  /// Returns a member's sessions, newest first. A position is an id.
  func sessions(of member: Int64, _ query: PositionQuery) async throws -> [MemberSession]
  func revokeSessions(
    of member: Int64, by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> RevokeSessionsResponse
}

protocol LodgeRepository {
  func lodgeSettings() async throws -> LodgeSettings
  func updateSettings(_ change: LodgeSettings, fields: [LodgeField], by caller: AttendanceCaller) async throws
    -> LodgeSettings
  /// Imports all rows or none. The response lists the errors. A repeated request returns the stored response.
  func importRows(
    _ rows: ImportRows, isDryRun: Bool, by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> ImportCsvResponse
}

protocol AuditRepository {
  /// Returns entries, newest first. A position is a sequence. Values of more than 1 MiB are omitted.
  func auditEntries(_ query: PositionQuery, subject: String?) async throws -> PageRows<AuditEntry>
  /// Returns rows, oldest first, up to about 4 MiB; empty after the last row.
  func auditRows(after sequence: Int64) async throws -> [AuditRow]
  func undo(
    _ sequence: Int64, by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> UndoChangeResponse
}
