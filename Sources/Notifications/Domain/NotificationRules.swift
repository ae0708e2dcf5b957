import CampanileAPI

/// What a notification may hold.
enum NotificationRules {
  static let titleMax = 256
  static let subtitleMax = 256
  static let bodySizeBytesMax = 16_384
  static let attachmentsMax = 16
  static let attachmentNameMax = 256
  static let actionsMax = 16

  /// Checks every field that a caller may set.
  static func check(_ notification: Notification, _ path: String, _ violations: inout Violations) {
    for field in NotificationField.allCases { check(field, of: notification, path, &violations) }
  }

  /// Checks one field, named below `path` (`notification`, `requests[3].notification`).
  static func check(
    _ field: NotificationField, of notification: Notification, _ path: String, _ violations: inout Violations
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
        violations.add("\(path).priority", "\(number) is no priority", .enumUnknown)
      }
    case .attachments: check(notification.attachments, "\(path).attachments", &violations)
    case .actions: check(notification.actions, "\(path).actions", &violations)
    case .tapAction:
      if let action = notification.tapAction { ActionRules.check(action, "\(path).tapAction", &violations) }
    case .bucketID:
      if notification.bucketId.isEmpty { violations.add("\(path).bucketId", "must not be empty", .required) }
    }
  }

  private static func check(_ attachments: [Attachment], _ path: String, _ violations: inout Violations) {
    guard attachments.count <= attachmentsMax else {
      return violations.add(path, "must have at most \(attachmentsMax) entries", .tooMany)
    }
    for (index, attachment) in attachments.enumerated() {
      switch attachment.mediaType {
      case .unspecified: violations.add("\(path)[\(index)].mediaType", "must be given", .enumUnspecified)
      case .unrecognized(let number):
        violations.add("\(path)[\(index)].mediaType", "\(number) is no media type", .enumUnknown)
      default: break
      }
      violations.webURL(attachment.url, "\(path)[\(index)].url")
      violations.text(attachment.name, "\(path)[\(index)].name", max: attachmentNameMax)
    }
  }

  private static func check(_ actions: [Action], _ path: String, _ violations: inout Violations) {
    guard actions.count <= actionsMax else {
      return violations.add(path, "must have at most \(actionsMax) entries", .tooMany)
    }
    for (index, action) in actions.enumerated() { ActionRules.check(action, "\(path)[\(index)]", &violations) }
  }
}
