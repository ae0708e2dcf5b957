import CampanileCodec
import CampanileService

/// The error reasons of this service, in addition to the common ones.
extension Reason {
  // Fields
  static let dateInvalid = Reason(rawValue: "DATE_INVALID")
  static let datesOutOfOrder = Reason(rawValue: "DATES_OUT_OF_ORDER")
  static let emailInvalid = Reason(rawValue: "EMAIL_INVALID")
  static let memberRepeated = Reason(rawValue: "MEMBER_REPEATED")
  static let codeInvalid = Reason(rawValue: "CODE_INVALID")
  // Objects and state
  static let memberNotFound = Reason(rawValue: "MEMBER_NOT_FOUND")
  static let meetingNotFound = Reason(rawValue: "MEETING_NOT_FOUND")
  static let feedNotFound = Reason(rawValue: "FEED_NOT_FOUND")
  static let auditEntryNotFound = Reason(rawValue: "AUDIT_ENTRY_NOT_FOUND")
  static let nameTaken = Reason(rawValue: "NAME_TAKEN")
  static let userTaken = Reason(rawValue: "USER_TAKEN")
  static let membersExhausted = Reason(rawValue: "MEMBERS_EXHAUSTED")
  static let meetingsExhausted = Reason(rawValue: "MEETINGS_EXHAUSTED")
  static let feedsExhausted = Reason(rawValue: "FEEDS_EXHAUSTED")
  static let memberErased = Reason(rawValue: "MEMBER_ERASED")
  static let nameNotConfirmed = Reason(rawValue: "NAME_NOT_CONFIRMED")
  static let meetingCancelled = Reason(rawValue: "MEETING_CANCELLED")
  static let meetingNotBegun = Reason(rawValue: "MEETING_NOT_BEGUN")
  static let meetingHasAttendance = Reason(rawValue: "MEETING_HAS_ATTENDANCE")
  static let beforeInitiation = Reason(rawValue: "BEFORE_INITIATION")
  static let confirmationLate = Reason(rawValue: "CONFIRMATION_LATE")
  static let codeUsed = Reason(rawValue: "CODE_USED")
  static let codeExpired = Reason(rawValue: "CODE_EXPIRED")
  static let checkInClosed = Reason(rawValue: "CHECK_IN_CLOSED")
  static let noticesUnavailable = Reason(rawValue: "NOTICES_UNAVAILABLE")
  static let changedSince = Reason(rawValue: "CHANGED_SINCE")
  static let notUndoable = Reason(rawValue: "NOT_UNDOABLE")
  // Callers
  static let roleMissing = Reason(rawValue: "ROLE_MISSING")
  static let memberUnknown = Reason(rawValue: "MEMBER_UNKNOWN")
  static let statisticsPrivate = Reason(rawValue: "STATISTICS_PRIVATE")
  static let sessionInvalid = Reason(rawValue: "SESSION_INVALID")
  static let sessionExpired = Reason(rawValue: "SESSION_EXPIRED")
  static let credentialsInvalid = Reason(rawValue: "CREDENTIALS_INVALID")
  static let loginThrottled = Reason(rawValue: "LOGIN_THROTTLED")
  static let loginBusy = Reason(rawValue: "LOGIN_BUSY")
  static let loginLocked = Reason(rawValue: "LOGIN_LOCKED")
}
