import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates notifications.
enum NotificationRules {
  static let titleMax = 256
  static let subtitleMax = 256
  static let bodySizeBytesMax = 16_384
  static let attachmentsMax = 16
  static let attachmentNameMax = 256
  static let actionsMax = 16

  static let collapseKeyMax = 64
  static let inlineSizeBytesMax = 262_144
  /// One year, including a leap day.
  static let scheduleAheadMaxMs: Int64 = 366 * 24 * 3_600 * 1_000

  /// Checks every field that callers may set.
  static func check(_ notification: Notification, _ path: String, nowMs: Int64, _ violations: inout Violations) {
    for field in NotificationField.allCases { check(field, of: notification, path, nowMs: nowMs, &violations) }
    violations.text(notification.collapseKey, "\(path).collapseKey", max: collapseKeyMax)
    let before = violations.count
    RequestChecks.future(notification.deliverTime, "\(path).deliverTime", nowMs: nowMs, &violations)
    guard violations.count == before, let deliverMs = notification.deliverTime?.millisecondsSince1970 else { return }
    if deliverMs - nowMs > scheduleAheadMaxMs {
      violations.add("\(path).deliverTime", "must be at most a year ahead", .outOfRange)
    }
    if let expireMs = notification.expireTime?.millisecondsSince1970, expireMs > nowMs, expireMs <= deliverMs {
      violations.add("\(path).expireTime", "must be after deliverTime", .timeRangeEmpty)
    }
  }

  /// Checks one field. `path` prefixes its name (`notification`, `requests[3].notification`).
  static func check(
    _ field: NotificationField, of notification: Notification, _ path: String, nowMs: Int64,
    _ violations: inout Violations
  ) {
    switch field {
    case .title: violations.text(notification.title, "\(path).title", max: titleMax, isRequired: true)
    case .subtitle:
      if let subtitle = notification.subtitle { violations.text(subtitle, "\(path).subtitle", max: subtitleMax) }
    case .body:
      guard let body = notification.body else { return }
      if body.utf8.count > bodySizeBytesMax {
        violations.add("\(path).body", "must have at most \(bodySizeBytesMax) bytes of UTF-8", .tooLong)
      } else if TextRules.hasNull(body) {
        violations.add("\(path).body", "must not contain U+0000", .textInvalid)
      }
    case .priority:
      if case .unrecognized(let number) = notification.priority {
        violations.add("\(path).priority", "\(number) is not a priority", .enumUnknown)
      }
    case .attachments: check(notification.attachments, "\(path).attachments", &violations)
    case .actions: check(notification.actions, "\(path).actions", &violations)
    case .tapAction:
      if let action = notification.tapAction { ActionRules.check(action, "\(path).tapAction", &violations) }
    case .bucketID:
      if notification.bucketId.isEmpty { violations.add("\(path).bucketId", "must not be empty", .required) }
    case .expireTime: RequestChecks.future(notification.expireTime, "\(path).expireTime", nowMs: nowMs, &violations)
    case .repeat:
      guard let `repeat` = notification.`repeat` else { return }
      if !(1...1_440).contains(`repeat`.everyMinutes) {
        violations.add("\(path).repeat.everyMinutes", "must be 1 to 1440", .outOfRange)
      }
      if !(0...100).contains(`repeat`.maxCount) {
        violations.add("\(path).repeat.maxCount", "must be 0 to 100", .outOfRange)
      }
    }
  }

  private static func check(_ attachments: [Attachment], _ path: String, _ violations: inout Violations) {
    guard attachments.count <= attachmentsMax else {
      return violations.add(path, "must have at most \(attachmentsMax) entries", .tooMany)
    }
    for (index, attachment) in attachments.enumerated() { check(attachment, "\(path)[\(index)]", &violations) }
    let inlineSizeBytes = attachments.reduce(0) { $0 + $1.data.count }
    if inlineSizeBytes > inlineSizeBytesMax {
      violations.add(path, "must have at most \(inlineSizeBytesMax) bytes of data, not \(inlineSizeBytes)", .tooLong)
    }
  }

  private static func check(_ attachment: Attachment, _ path: String, _ violations: inout Violations) {
    switch attachment.mediaType {
    case .unspecified: violations.add("\(path).mediaType", "must be given", .enumUnspecified)
    case .unrecognized(let number): violations.add("\(path).mediaType", "\(number) is not a media type", .enumUnknown)
    default: break
    }
    violations.text(attachment.name, "\(path).name", max: attachmentNameMax)
    if attachment.data.isEmpty, attachment.contentId.isEmpty { return violations.webURL(attachment.url, "\(path).url") }
    if !attachment.url.isEmpty {
      violations.add("\(path).url", "must be empty if data is given", .urlInvalid)
    }
    if !TextRules.isMediaType(attachment.contentType) {
      violations.add("\(path).contentType", "must be a media type such as image/png", .contentTypeInvalid)
    }
  }

  private static func check(_ actions: [Action], _ path: String, _ violations: inout Violations) {
    guard actions.count <= actionsMax else {
      return violations.add(path, "must have at most \(actionsMax) entries", .tooMany)
    }
    for (index, action) in actions.enumerated() { ActionRules.check(action, "\(path)[\(index)]", &violations) }
  }
}
