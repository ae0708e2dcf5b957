import CampanileRPC

/// Gathers what is wrong with a request, so that one answer names every field at fault.
struct Violations {
  /// Violations told at most; a request with more is broken as a whole.
  static let countMax = 64

  private(set) var items: [RPCError.FieldViolation] = []

  var isEmpty: Bool { items.isEmpty }
  var count: Int { items.count }

  /// `field` is a path in lowerCamelCase, as the JSON request has it: `notification.actions[2].type`.
  mutating func add(_ field: String, _ description: String, _ reason: Reason) {
    guard items.count < Self.countMax else { return }
    items.append(.init(field: field, description: description, reason: reason.rawValue))
  }

  /// Throws INVALID_ARGUMENT when there is any. A single violation lends its reason to the error; several make it
  /// `FIELDS_INVALID`.
  func check() throws(RPCError) {
    guard let first = items.first else { return }
    let others = items.count - 1
    throw RPCError(
      .invalidArgument,
      "\(first.field): \(first.description)" + (others > 0 ? " (and \(others) more)" : ""),
      reason: others > 0 ? Reason.fieldsInvalid.rawValue : first.reason, fieldViolations: items)
  }
}

/// The stable reasons of this service's errors.
enum Reason: String, Sendable {
  // About fields.
  case required = "REQUIRED"
  case tooLong = "TOO_LONG"
  case tooMany = "TOO_MANY"
  case textInvalid = "TEXT_INVALID"
  case quietHoursEndless = "QUIET_HOURS_ENDLESS"
  case timeOfDayInvalid = "TIME_OF_DAY_INVALID"
  case timeZoneUnknown = "TIME_ZONE_UNKNOWN"
  case templateSyntaxInvalid = "TEMPLATE_SYNTAX_INVALID"
  case templateVariableMissing = "TEMPLATE_VARIABLE_MISSING"
  case templateVariableUnknown = "TEMPLATE_VARIABLE_UNKNOWN"
  case methodInvalid = "METHOD_INVALID"
  case headerNameInvalid = "HEADER_NAME_INVALID"
  case headerValueInvalid = "HEADER_VALUE_INVALID"
  case fieldNotAllowed = "FIELD_NOT_ALLOWED"
  case enumUnspecified = "ENUM_UNSPECIFIED"
  case enumUnknown = "ENUM_UNKNOWN"
  case urlInvalid = "URL_INVALID"
  case colorInvalid = "COLOR_INVALID"
  case actionValueInvalid = "ACTION_VALUE_INVALID"
  case outOfRange = "OUT_OF_RANGE"
  case timeRangeEmpty = "TIME_RANGE_EMPTY"
  case fieldMaskInvalid = "FIELD_MASK_INVALID"
  case pageTokenInvalid = "PAGE_TOKEN_INVALID"
  case resumeTokenInvalid = "RESUME_TOKEN_INVALID"
  case fieldsInvalid = "FIELDS_INVALID"
  case timePast = "TIME_PAST"
  case contentTypeInvalid = "CONTENT_TYPE_INVALID"
  case idInvalid = "ID_INVALID"
  case contentInvalid = "CONTENT_INVALID"
  case queryOnlyNegative = "QUERY_ONLY_NEGATIVE"
  case queryQuotesUnbalanced = "QUERY_QUOTES_UNBALANCED"
  // About objects and state.
  case bucketNotFound = "BUCKET_NOT_FOUND"
  case notificationNotFound = "NOTIFICATION_NOT_FOUND"
  case templateNotFound = "TEMPLATE_NOT_FOUND"
  case heartbeatNotFound = "HEARTBEAT_NOT_FOUND"
  case webhookNotFound = "WEBHOOK_NOT_FOUND"
  case automationExhausted = "AUTOMATION_EXHAUSTED"
  case etagMismatch = "ETAG_MISMATCH"
  case tokenTooOld = "TOKEN_TOO_OLD"
  case bucketsExhausted = "BUCKETS_EXHAUSTED"
  case notificationsExhausted = "NOTIFICATIONS_EXHAUSTED"
  case roleMissing = "ROLE_MISSING"
  case bucketShared = "BUCKET_SHARED"
  case bucketIDTaken = "BUCKET_ID_TAKEN"
  case contentNotFound = "CONTENT_NOT_FOUND"
  case actionNotFound = "ACTION_NOT_FOUND"
  case shareNotFound = "SHARE_NOT_FOUND"
  case publishKeyNotFound = "PUBLISH_KEY_NOT_FOUND"
  case publishKeyInvalid = "PUBLISH_KEY_INVALID"
  case copiesExhausted = "COPIES_EXHAUSTED"
  case scheduledExhausted = "SCHEDULED_EXHAUSTED"
  case sharesExhausted = "SHARES_EXHAUSTED"
  case publishKeysExhausted = "PUBLISH_KEYS_EXHAUSTED"
  case watchesExhausted = "WATCHES_EXHAUSTED"
  case bucketBusy = "BUCKET_BUSY"
  case recordDamaged = "RECORD_DAMAGED"
  case collapseKeyTaken = "COLLAPSE_KEY_TAKEN"
  case formatVersionUnknown = "FORMAT_VERSION_UNKNOWN"
  case entryUnknown = "ENTRY_UNKNOWN"
  case searchIndexBehind = "SEARCH_INDEX_BEHIND"
}
