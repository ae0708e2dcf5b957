import CampanileAPI
import CampanileCodec
import CampanileService

/// Initial values of the lodge's settings, and the checks that the contract does not declare.
enum LodgeRules {
  static func initial(timeZone: String) -> LodgeSettings {
    LodgeSettings(
      timeZone: timeZone, excusedPausesStreak: true, excusedLeavesDenominator: true,
      checkInOpensBefore: ProtoDuration(seconds: 2 * 3_600), checkInClosesAfter: ProtoDuration(seconds: 4 * 3_600),
      etag: Etag.text(version: 1), language: .english, exportRole: .secretary, notices: NoticeSettings())
  }

  /// Sets the values of fields that were added since the settings were stored.
  static func complete(_ settings: inout LodgeSettings) {
    if settings.language == .unspecified { settings.language = .english }
    if settings.exportRole == .unspecified { settings.exportRole = .secretary }
    settings.notices = settings.notices ?? NoticeSettings()
  }

  static func check(
    _ field: LodgeField, of settings: LodgeSettings, _ path: String, _ violations: inout Violations
  ) {
    switch field {
    case .timeZone where LodgeCalendar(settings.timeZone) == nil:
      violations.add("\(path).timeZone", "must be an IANA time zone", .timeZoneUnknown)
    default: break
    }
  }
}

/// The fields of the lodge's settings that callers may change.
enum LodgeField: String, MaskableField {
  case timeZone = "time_zone"
  case excusedPausesStreak = "excused_pauses_streak"
  case excusedLeavesDenominator = "excused_leaves_denominator"
  case statisticsPrivate = "statistics_private"
  case lateConfirmation = "late_confirmation"
  case checkInOpensBefore = "check_in_opens_before"
  case checkInClosesAfter = "check_in_closes_after"
  case exportRole = "export_role"
  case deviceLogin = "device_login"
  case language, notices

  func isSet(in message: LodgeSettings) -> Bool {
    switch self {
    case .timeZone: !message.timeZone.isEmpty
    case .excusedPausesStreak: message.excusedPausesStreak
    case .excusedLeavesDenominator: message.excusedLeavesDenominator
    case .statisticsPrivate: message.statisticsPrivate
    case .lateConfirmation: message.lateConfirmation != nil
    case .checkInOpensBefore: message.checkInOpensBefore != nil
    case .checkInClosesAfter: message.checkInClosesAfter != nil
    case .language: message.language != .unspecified
    case .exportRole: message.exportRole != .unspecified
    case .deviceLogin: message.deviceLogin
    case .notices: message.notices != nil
    }
  }

  func copy(from source: LodgeSettings, to target: inout LodgeSettings) {
    switch self {
    case .timeZone: target.timeZone = source.timeZone
    case .excusedPausesStreak: target.excusedPausesStreak = source.excusedPausesStreak
    case .excusedLeavesDenominator: target.excusedLeavesDenominator = source.excusedLeavesDenominator
    case .statisticsPrivate: target.statisticsPrivate = source.statisticsPrivate
    case .lateConfirmation: target.lateConfirmation = source.lateConfirmation
    case .checkInOpensBefore: target.checkInOpensBefore = source.checkInOpensBefore
    case .checkInClosesAfter: target.checkInClosesAfter = source.checkInClosesAfter
    case .language: target.language = source.language == .unspecified ? .english : source.language
    case .exportRole: target.exportRole = source.exportRole == .unspecified ? .secretary : source.exportRole
    case .deviceLogin: target.deviceLogin = source.deviceLogin
    case .notices: target.notices = source.notices ?? NoticeSettings()
    }
  }
}

extension LodgeSettings {
  var countingRules: CountingRules {
    CountingRules(
      excusedPausesStreak: excusedPausesStreak, excusedLeavesDenominator: excusedLeavesDenominator)
  }
}
