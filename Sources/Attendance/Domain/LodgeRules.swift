import CampanileAPI
import CampanileCodec
import CampanileService

/// Initial values and validation of the lodge's settings.
enum LodgeRules {
  static func initial(timeZone: String) -> LodgeSettings {
    LodgeSettings(
      timeZone: timeZone, excusedPausesStreak: true, excusedLeavesDenominator: true, lateConfirmationHours: 168,
      checkInOpensMinutesBefore: 120, checkInClosesMinutesAfter: 240, etag: Etag.text(version: 1))
  }

  static func check(
    _ field: LodgeField, of settings: LodgeSettings, _ path: String, _ violations: inout Violations
  ) {
    switch field {
    case .timeZone:
      if LodgeCalendar(settings.timeZone) == nil {
        violations.add("\(path).timeZone", "must be an IANA time zone", .timeZoneUnknown)
      }
    case .excusedPausesStreak, .excusedLeavesDenominator, .statisticsPrivate: break
    case .lateConfirmationHours:
      range(settings.lateConfirmationHours, 0...8_760, "\(path).lateConfirmationHours", &violations)
    case .checkInOpensMinutesBefore:
      range(settings.checkInOpensMinutesBefore, 0...1_440, "\(path).checkInOpensMinutesBefore", &violations)
    case .checkInClosesMinutesAfter:
      range(settings.checkInClosesMinutesAfter, 1...1_440, "\(path).checkInClosesMinutesAfter", &violations)
    }
  }

  private static func range(
    _ value: Int32, _ allowed: ClosedRange<Int32>, _ field: String, _ violations: inout Violations
  ) {
    guard !allowed.contains(value) else { return }
    violations.add(field, "must be \(allowed.lowerBound) to \(allowed.upperBound)", .outOfRange)
  }
}

/// The fields of the lodge's settings that callers may change.
enum LodgeField: String, MaskableField {
  case timeZone = "time_zone"
  case excusedPausesStreak = "excused_pauses_streak"
  case excusedLeavesDenominator = "excused_leaves_denominator"
  case statisticsPrivate = "statistics_private"
  case lateConfirmationHours = "late_confirmation_hours"
  case checkInOpensMinutesBefore = "check_in_opens_minutes_before"
  case checkInClosesMinutesAfter = "check_in_closes_minutes_after"

  func isSet(in message: LodgeSettings) -> Bool {
    switch self {
    case .timeZone: !message.timeZone.isEmpty
    case .excusedPausesStreak: message.excusedPausesStreak
    case .excusedLeavesDenominator: message.excusedLeavesDenominator
    case .statisticsPrivate: message.statisticsPrivate
    case .lateConfirmationHours: message.lateConfirmationHours != 0
    case .checkInOpensMinutesBefore: message.checkInOpensMinutesBefore != 0
    case .checkInClosesMinutesAfter: message.checkInClosesMinutesAfter != 0
    }
  }

  func copy(from source: LodgeSettings, to target: inout LodgeSettings) {
    switch self {
    case .timeZone: target.timeZone = source.timeZone
    case .excusedPausesStreak: target.excusedPausesStreak = source.excusedPausesStreak
    case .excusedLeavesDenominator: target.excusedLeavesDenominator = source.excusedLeavesDenominator
    case .statisticsPrivate: target.statisticsPrivate = source.statisticsPrivate
    case .lateConfirmationHours: target.lateConfirmationHours = source.lateConfirmationHours
    case .checkInOpensMinutesBefore: target.checkInOpensMinutesBefore = source.checkInOpensMinutesBefore
    case .checkInClosesMinutesAfter: target.checkInClosesMinutesAfter = source.checkInClosesMinutesAfter
    }
  }
}

extension LodgeSettings {
  var countingRules: CountingRules {
    CountingRules(
      excusedPausesStreak: excusedPausesStreak, excusedLeavesDenominator: excusedLeavesDenominator)
  }
}
