import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates notifications by the rules that their constraints cannot express.
enum NotificationRules {
  static let titleMax = 256
  static let subtitleMax = 256
  static let bodySizeBytesMax = 16_384
  static let attachmentsMax = 16
  static let actionsMax = 16

  static let inlineSizeBytesMax = 262_144
  /// One year, including a leap day.
  static let scheduleAheadMaxMs: Int64 = 366 * 24 * 3_600 * 1_000

  /// Checks every field that callers may set.
  static func check(_ notification: Notification, _ path: String, nowMs: Int64, _ violations: inout Violations) {
    for field in NotificationField.allCases { check(field, of: notification, path, nowMs: nowMs, &violations) }
    let before = violations.count
    RequestChecks.future(notification.deliverTime, "\(path).deliverTime", nowMs: nowMs, &violations)
    guard violations.count == before, let deliverMs = notification.deliverTime?.millisecondsSince1970 else { return }
    atMostAYearAhead(notification.deliverTime, "\(path).deliverTime", nowMs: nowMs, &violations)
    if let expireMs = notification.expireTime?.millisecondsSince1970, expireMs > nowMs, expireMs <= deliverMs {
      violations.add("\(path).expireTime", "must be after deliverTime", .timeRangeEmpty)
    }
  }

  /// Checks a time that the service must remember until then.
  static func atMostAYearAhead(
    _ time: ProtoTimestamp?, _ path: String, nowMs: Int64, _ violations: inout Violations
  ) {
    guard let time, time.millisecondsSince1970 - nowMs > scheduleAheadMaxMs else { return }
    violations.add(path, "must be at most a year ahead", .outOfRange)
  }

  /// Checks one field. `path` prefixes its name (`notification`, `requests[3].notification`).
  static func check(
    _ field: NotificationField, of notification: Notification, _ path: String, nowMs: Int64,
    _ violations: inout Violations
  ) {
    switch field {
    case .title: if notification.title.isEmpty { violations.add("\(path).title", "must not be empty", .required) }
    case .subtitle, .body, .priority, .repeat: break
    case .attachments: check(notification.attachments, "\(path).attachments", &violations)
    case .actions: check(notification.actions, "\(path).actions", &violations)
    case .tapAction:
      if let action = notification.tapAction { ActionRules.check(action, "\(path).tapAction", &violations) }
    case .bucketID:
      if notification.bucketId.isEmpty { violations.add("\(path).bucketId", "must not be empty", .required) }
    case .expireTime: RequestChecks.future(notification.expireTime, "\(path).expireTime", nowMs: nowMs, &violations)
    }
  }

  private static func check(_ attachments: [Attachment], _ path: String, _ violations: inout Violations) {
    for (index, attachment) in attachments.prefix(attachmentsMax).enumerated() {
      check(attachment, "\(path)[\(index)]", &violations)
    }
    let inlineSizeBytes = attachments.reduce(0) { $0 + $1.data.count }
    if inlineSizeBytes > inlineSizeBytesMax {
      violations.add(path, "must have at most \(inlineSizeBytesMax) bytes of data, not \(inlineSizeBytes)", .tooLong)
    }
  }

  private static func check(_ attachment: Attachment, _ path: String, _ violations: inout Violations) {
    if attachment.data.isEmpty, attachment.contentId.isEmpty { return violations.webURL(attachment.url, "\(path).url") }
    if !attachment.url.isEmpty {
      violations.add("\(path).url", "must be empty if data is given", .urlInvalid)
    }
    if !TextRules.isMediaType(attachment.contentType) {
      violations.add("\(path).contentType", "must be a media type such as image/png", .contentTypeInvalid)
    }
  }

  private static func check(_ actions: [Action], _ path: String, _ violations: inout Violations) {
    for (index, action) in actions.prefix(actionsMax).enumerated() {
      ActionRules.check(action, "\(path)[\(index)]", &violations)
    }
  }
}
