import CampanileAPI
import CampanileCodec
import CampanileService

/// Validation rules for a meeting.
enum MeetingRules {
  static let discussionMax = 512
  static let locationMax = 256
  static let introducedByMax = 128
  static let notesMax = 4_096
  /// The years 1700 to 2999 in UTC, in milliseconds since 1970.
  static let startMsRange: Range<Int64> = -8_520_336_000_000..<32_503_680_000_000

  static func check(_ meeting: Meeting, _ path: String, _ violations: inout Violations) {
    for field in MeetingField.allCases { check(field, of: meeting, path, &violations) }
  }

  static func check(_ field: MeetingField, of meeting: Meeting, _ path: String, _ violations: inout Violations) {
    switch field {
    case .startTime: checkStart(meeting, path, &violations)
    case .timeZone:
      if !meeting.timeZone.isEmpty, LodgeCalendar(meeting.timeZone) == nil {
        violations.add("\(path).timeZone", "must be an IANA time zone", .timeZoneUnknown)
      }
    case .discussion: violations.text(meeting.discussion, "\(path).discussion", min: 1, max: discussionMax)
    case .type:
      if case .unrecognized = meeting.type {
        violations.add("\(path).type", "must be ORDINARY, EXTRAORDINARY or CEREMONY", .enumUnknown)
      }
    case .status:
      if case .unrecognized = meeting.status {
        violations.add("\(path).status", "must be SCHEDULED, COMPLETED or CANCELLED", .enumUnknown)
      }
    case .location: violations.text(meeting.location, "\(path).location", max: locationMax)
    case .hasDinner: break
    case .introducedBy: violations.text(meeting.introducedBy, "\(path).introducedBy", max: introducedByMax)
    case .notes: violations.text(meeting.notes, "\(path).notes", max: notesMax)
    case .coverImageURL:
      if !meeting.coverImageUrl.isEmpty { violations.webURL(meeting.coverImageUrl, "\(path).coverImageUrl") }
    }
  }

  private static func checkStart(_ meeting: Meeting, _ path: String, _ violations: inout Violations) {
    guard let time = meeting.startTime else {
      return violations.add("\(path).startTime", "must be given", .required)
    }
    guard let startMs = TimeRules.milliseconds(time, "\(path).startTime", &violations) else { return }
    if !startMsRange.contains(startMs) {
      violations.add("\(path).startTime", "must be in the years 1700 to 2999", .outOfRange)
    }
  }
}

/// The fields of a meeting that callers may change.
enum MeetingField: String, MaskableField {
  case discussion, type, status, location, notes
  case startTime = "start_time"
  case timeZone = "time_zone"
  case hasDinner = "has_dinner"
  case introducedBy = "introduced_by"
  case coverImageURL = "cover_image_url"

  func isSet(in message: Meeting) -> Bool {
    switch self {
    case .startTime: message.startTime != nil
    case .timeZone: !message.timeZone.isEmpty
    case .discussion: !message.discussion.isEmpty
    case .type: message.type != .unspecified
    case .status: message.status != .unspecified
    case .location: !message.location.isEmpty
    case .hasDinner: message.hasDinner
    case .introducedBy: !message.introducedBy.isEmpty
    case .notes: !message.notes.isEmpty
    case .coverImageURL: !message.coverImageUrl.isEmpty
    }
  }

  func copy(from source: Meeting, to target: inout Meeting) {
    switch self {
    case .startTime: target.startTime = source.startTime
    case .timeZone: target.timeZone = source.timeZone
    case .discussion: target.discussion = source.discussion
    case .type: target.type = source.type == .unspecified ? .ordinary : source.type
    case .status: target.status = source.status == .unspecified ? .scheduled : source.status
    case .location: target.location = source.location
    case .hasDinner: target.hasDinner = source.hasDinner
    case .introducedBy: target.introducedBy = source.introducedBy
    case .notes: target.notes = source.notes
    case .coverImageURL: target.coverImageUrl = source.coverImageUrl
    }
  }
}
