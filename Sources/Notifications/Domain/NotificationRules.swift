import CampanileAPI

/// What makes a notification or a bucket acceptable. Pure: nothing here looks at what is stored.
enum NotificationRules {
  static func check(_ notification: Notification, at path: String, into violations: inout Violations) {
    violations.characters(notification.title, 1...NotificationsLimits.titleCharactersMax, "\(path).title")
    if let subtitle = notification.subtitle {
      violations.characters(subtitle, 0...NotificationsLimits.subtitleCharactersMax, "\(path).subtitle")
    }
    if let body = notification.body, body.utf8.count > NotificationsLimits.bodyBytesMax {
      violations.add(
        "\(path).body", "has \(body.utf8.count) bytes; at most \(NotificationsLimits.bodyBytesMax) are allowed",
        "TOO_LONG")
    }
    if case .unrecognized(let number) = notification.priority {
      violations.add("\(path).priority", "\(number) is no priority", "ENUM_UNKNOWN")
    }
    checkCount(notification.attachments.count, NotificationsLimits.attachmentsMax, "\(path).attachments", &violations)
    for (index, attachment) in notification.attachments.prefix(NotificationsLimits.attachmentsMax).enumerated() {
      check(attachment, at: "\(path).attachments[\(index)]", into: &violations)
    }
    checkCount(notification.actions.count, NotificationsLimits.actionsMax, "\(path).actions", &violations)
    for (index, action) in notification.actions.prefix(NotificationsLimits.actionsMax).enumerated() {
      check(action, at: "\(path).actions[\(index)]", into: &violations)
    }
    if let action = notification.tapAction { check(action, at: "\(path).tap_action", into: &violations) }
  }

  private static func checkCount(_ count: Int, _ limit: Int, _ field: String, _ violations: inout Violations) {
    if count > limit { violations.add(field, "has \(count) elements; at most \(limit) are allowed", "TOO_MANY") }
  }

  private static func check(_ attachment: Attachment, at path: String, into violations: inout Violations) {
    switch attachment.mediaType {
    case .unspecified: violations.add("\(path).media_type", "must be set", "REQUIRED")
    case .unrecognized(let number): violations.add("\(path).media_type", "\(number) is no media type", "ENUM_UNKNOWN")
    default: break
    }
    if !attachment.url.isEmpty { violations.webURL(attachment.url, "\(path).url") }
    violations.characters(attachment.name, 0...256, "\(path).name")
  }

  /// The forms of `value` are those of seed 002's app: a URL, `METHOD::URL`, minutes as a string, or an id.
  private static func check(_ action: Action, at path: String, into violations: inout Violations) {
    let field = "\(path).value"
    switch action.type {
    case .unspecified: violations.add("\(path).type", "must be set", "REQUIRED")
    case .unrecognized(let number): violations.add("\(path).type", "\(number) is no action type", "ENUM_UNKNOWN")
    case .navigate:
      if action.value.isEmpty { violations.add(field, "must be a URL", "REQUIRED") }
    case .backgroundCall:
      let parts = action.value.split(separator: "::", maxSplits: 1).map(String.init)
      let methods: Set = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
      if parts.count != 2 || !methods.contains(parts[0].uppercased()) || !Violations.isWebURL(parts[1]) {
        violations.add(field, "must be METHOD::URL, such as POST::https://example.org/done", "ACTION_VALUE_INVALID")
      }
    case .snooze, .postpone:
      guard let minutes = Int(action.value), (1...525_600).contains(minutes) else {
        return violations.add(field, "must be minutes from 1 to 525600", "ACTION_VALUE_INVALID")
      }
    case .webhook:
      if action.value.isEmpty { violations.add(field, "must be the webhook's id", "REQUIRED") }
    case .markAsRead, .openNotification, .delete: break
    }
    violations.characters(action.value, 0...NotificationsLimits.urlCharactersMax, field)
    violations.characters(action.title, 0...128, "\(path).title")
    violations.characters(action.icon, 0...256, "\(path).icon")
  }

  static func check(_ bucket: Bucket, at path: String, into violations: inout Violations) {
    violations.characters(bucket.name, 1...128, "\(path).name")
    if let description = bucket.description { violations.characters(description, 0...1024, "\(path).description") }
    if let color = bucket.color, !isColor(color) {
      violations.add("\(path).color", "must be #RRGGBB", "COLOR_INVALID")
    }
    if let url = bucket.iconUrl { violations.webURL(url, "\(path).icon_url") }
  }

  private static func isColor(_ text: String) -> Bool {
    let utf8 = Array(text.utf8)
    guard utf8.count == 7, utf8[0] == UInt8(ascii: "#") else { return false }
    return utf8.dropFirst().allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
        UInt8(ascii: "A")...UInt8(ascii: "F"):
        true
      default: false
      }
    }
  }

  static func checkRequestID(_ requestID: String, at path: String, into violations: inout Violations) {
    violations.characters(requestID, 0...NotificationsLimits.requestIDCharactersMax, path)
  }

  static func checkIDs(_ ids: [String], at path: String, into violations: inout Violations) {
    if ids.isEmpty { violations.add(path, "must name at least one", "REQUIRED") }
    if ids.count > NotificationsLimits.batchMax {
      violations.add(path, "names \(ids.count); at most \(NotificationsLimits.batchMax) are allowed", "TOO_MANY")
    }
  }

  /// The page size to use; 0 stands for the default.
  static func pageSize(_ asked: Int32, into violations: inout Violations) -> Int {
    guard (0...Int32(NotificationsLimits.pageSizeMax)).contains(asked) else {
      violations.add("page_size", "must be 0 to \(NotificationsLimits.pageSizeMax)", "OUT_OF_RANGE")
      return 1
    }
    return asked == 0 ? NotificationsLimits.pageSizeDefault : Int(asked)
  }
}
