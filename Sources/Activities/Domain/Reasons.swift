import CampanileCodec
import CampanileService

/// Error reasons of this service, in addition to those shared by all services.
extension Reason {
  // About fields.
  static let payloadTooLarge = Reason(rawValue: "PAYLOAD_TOO_LARGE")
  static let jsonInvalid = Reason(rawValue: "JSON_INVALID")
  static let tokenInvalid = Reason(rawValue: "TOKEN_INVALID")
  static let environmentUnknown = Reason(rawValue: "ENVIRONMENT_UNKNOWN")
  static let environmentMismatch = Reason(rawValue: "ENVIRONMENT_MISMATCH")
  static let appInvalid = Reason(rawValue: "APP_INVALID")
  static let appMismatch = Reason(rawValue: "APP_MISMATCH")
  // About objects and state.
  static let activityNotFound = Reason(rawValue: "ACTIVITY_NOT_FOUND")
  static let activityExists = Reason(rawValue: "ACTIVITY_EXISTS")
  static let activityEnded = Reason(rawValue: "ACTIVITY_ENDED")
  static let activitiesExhausted = Reason(rawValue: "ACTIVITIES_EXHAUSTED")
  static let activityNoTimer = Reason(rawValue: "ACTIVITY_NO_TIMER")
  static let activityDriven = Reason(rawValue: "ACTIVITY_DRIVEN")
  static let timerPaused = Reason(rawValue: "TIMER_PAUSED")
  static let timerRunning = Reason(rawValue: "TIMER_RUNNING")
  static let tokenNotFound = Reason(rawValue: "TOKEN_NOT_FOUND")
  static let tokenTaken = Reason(rawValue: "TOKEN_TAKEN")
  static let tokensExhausted = Reason(rawValue: "TOKENS_EXHAUSTED")
  static let pushToStartTokenMissing = Reason(rawValue: "PUSH_TO_START_TOKEN_MISSING")
  static let channelNotFound = Reason(rawValue: "CHANNEL_NOT_FOUND")
  static let signingKeyMissing = Reason(rawValue: "SIGNING_KEY_MISSING")
}
