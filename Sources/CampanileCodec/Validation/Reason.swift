/// The stable reason of an error, in UPPER_SNAKE case. Services add their own in extensions.
public struct Reason: RawRepresentable, Sendable, Hashable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// Reasons that all services share.
extension Reason {
  // Fields
  public static let required = Reason(rawValue: "REQUIRED")
  public static let tooLong = Reason(rawValue: "TOO_LONG")
  public static let tooShort = Reason(rawValue: "TOO_SHORT")
  public static let tooMany = Reason(rawValue: "TOO_MANY")
  public static let textInvalid = Reason(rawValue: "TEXT_INVALID")
  public static let timeOfDayInvalid = Reason(rawValue: "TIME_OF_DAY_INVALID")
  public static let timeZoneUnknown = Reason(rawValue: "TIME_ZONE_UNKNOWN")
  public static let fieldNotAllowed = Reason(rawValue: "FIELD_NOT_ALLOWED")
  public static let enumUnspecified = Reason(rawValue: "ENUM_UNSPECIFIED")
  public static let enumUnknown = Reason(rawValue: "ENUM_UNKNOWN")
  public static let urlInvalid = Reason(rawValue: "URL_INVALID")
  public static let outOfRange = Reason(rawValue: "OUT_OF_RANGE")
  public static let timeRangeEmpty = Reason(rawValue: "TIME_RANGE_EMPTY")
  public static let fieldMaskInvalid = Reason(rawValue: "FIELD_MASK_INVALID")
  public static let pageTokenInvalid = Reason(rawValue: "PAGE_TOKEN_INVALID")
  public static let resumeTokenInvalid = Reason(rawValue: "RESUME_TOKEN_INVALID")
  public static let fieldsInvalid = Reason(rawValue: "FIELDS_INVALID")
  public static let timePast = Reason(rawValue: "TIME_PAST")
  public static let idInvalid = Reason(rawValue: "ID_INVALID")
  // Objects and state
  public static let etagMismatch = Reason(rawValue: "ETAG_MISMATCH")
  public static let tokenTooOld = Reason(rawValue: "TOKEN_TOO_OLD")
  public static let watchesExhausted = Reason(rawValue: "WATCHES_EXHAUSTED")
  public static let recordDamaged = Reason(rawValue: "RECORD_DAMAGED")
}
