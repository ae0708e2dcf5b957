import CampanileAPI
import CampanileCodec
import CampanileService

/// Checks of a meeting that the contract does not declare.
enum MeetingRules {
  /// The years 1700 to 2999 in UTC, in milliseconds since 1970.
  static let startMsRange: Range<Int64> = -8_520_336_000_000..<32_503_680_000_000

  static func check(_ meeting: Meeting, _ path: String, _ violations: inout Violations) {
    for field in MeetingField.allCases { check(field, of: meeting, path, &violations) }
  }

  static func check(_ field: MeetingField, of meeting: Meeting, _ path: String, _ violations: inout Violations) {
    let place = path.isEmpty ? field.jsonName : "\(path).\(field.jsonName)"
    switch field {
    case .startTime:
      guard let startMs = TimeRules.milliseconds(meeting.startTime, place, &violations) else { return }
      if !startMsRange.contains(startMs) {
        violations.add(place, "must be in the years 1700 to 2999", .outOfRange)
      }
    case .timeZone:
      if !meeting.timeZone.isEmpty, LodgeCalendar(meeting.timeZone) == nil {
        violations.add(place, "must be an IANA time zone", .timeZoneUnknown)
      }
    case .coverImageURL: if !meeting.coverImageUrl.isEmpty { violations.webURL(meeting.coverImageUrl, place) }
    case .discussion, .type, .status, .location, .hasDinner, .introducedBy, .notes: break
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
