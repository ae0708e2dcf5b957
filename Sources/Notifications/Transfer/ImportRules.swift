import CampanileAPI
import CampanileCodec
internal import CampanileCrypto
import CampanileService

/// Validates the entries of an import, by the rules for creation, and converts them.
///
/// An import does not notify devices. Therefore, held, snoozed or postponed notifications count as handed over, pending
/// repeats are dropped, and a heartbeat waits for its next beat.
enum ImportRules {
  static let contentsSizeBytesMax = 256 << 10

  static func bucket(_ entry: Bucket, _ path: String, _ violations: inout Violations) -> Bucket {
    id(entry.id, SortableID.bucketPrefix, path, &violations)
    entry.validate("\(path).", into: &violations)
    BucketRules.check(entry, path, &violations)
    times([(entry.createTime, "createTime"), (entry.updateTime, "updateTime")], isRequired: true, path, &violations)
    var bucket = entry
    bucket.notificationCount = 0
    bucket.unreadCount = 0
    bucket.shareCount = 0
    bucket.etag = BucketEtag.text(version: 1, bucket)
    bucket.settings = settings(entry.settings ?? BucketSettings(), of: entry.id, "\(path).settings", &violations)
    return bucket
  }

  private static func settings(
    _ entry: BucketSettings, of bucketID: String, _ path: String, _ violations: inout Violations
  ) -> BucketSettings {
    entry.validate("\(path).", into: &violations)
    if let hours = entry.quietHours { QuietHoursRules.check(hours, "\(path).quietHours", &violations) }
    times(
      [(entry.snoozeEndTime, "snoozeEndTime"), (entry.updateTime, "updateTime")], isRequired: false, path,
      &violations)
    var settings = BucketSettings()
    for field in BucketSettingsField.allCases { field.copy(from: entry, to: &settings) }
    settings.bucketId = bucketID
    settings.updateTime = entry.updateTime
    settings.etag = Etag.text(version: 1)
    return settings
  }

  static func blockedUser(_ entry: BlockedUser, _ path: String, _ violations: inout Violations) -> BlockedUser {
    entry.validate("\(path).", into: &violations)
    times([(entry.createTime, "createTime")], isRequired: true, path, &violations)
    return entry
  }

  static func notification(
    _ entry: ExportedNotification, nowMs: Int64, _ path: String, _ violations: inout Violations
  ) -> Notification {
    var notification = entry.notification ?? Notification()
    let path = "\(path).notification"
    id(notification.id, SortableID.notificationPrefix, path, &violations)
    check(notification, path, &violations)
    contents(of: notification, entry.contents, path, &violations)
    times(
      [(notification.createTime, "createTime"), (notification.updateTime, "updateTime")], isRequired: true, path,
      &violations)
    times(
      [
        (notification.readTime, "readTime"), (notification.sendTime, "sendTime"),
        (notification.expireTime, "expireTime"),
      ], isRequired: false, path, &violations)
    if let time = notification.expireTime, time.millisecondsSince1970 <= nowMs {
      violations.add("\(path).expireTime", "must be in the future", .outOfRange)
    }
    if notification.priority == .unspecified { notification.priority = .normal }
    notification.deliveryState = notification.deliveryState == .suppressed ? .suppressed : .sent
    notification.releaseTime = nil
    notification.deliverTime = nil
    notification.deleteTime = nil
    notification.repeat = nil
    notification.sendCount = max(0, notification.sendCount)
    for index in notification.attachments.indices {
      let size = entry.contents[notification.attachments[index].contentId]?.count
      notification.attachments[index].sizeBytes = Int32(clamping: size ?? 0)
    }
    notification.etag = Etag.text(version: 1)
    return notification
  }

  /// Also checks that the delivery time is in the future.
  static func scheduled(
    _ entry: ExportedNotification, nowMs: Int64, _ path: String, _ violations: inout Violations
  ) -> Notification {
    let deliverTime = entry.notification?.deliverTime
    var notification = notification(entry, nowMs: nowMs, path, &violations)
    times([(deliverTime, "deliverTime")], isRequired: true, "\(path).notification", &violations)
    if let deliverTime, deliverTime.millisecondsSince1970 <= nowMs {
      violations.add("\(path).notification.deliverTime", "must be in the future", .outOfRange)
    }
    notification.deliverTime = deliverTime
    notification.repeat = entry.notification?.repeat
    notification.deliveryState = .scheduled
    notification.readTime = nil
    notification.sendTime = nil
    return notification
  }

  static func template(_ entry: Template, _ path: String, _ violations: inout Violations) -> Template {
    id(entry.id, "t_", path, &violations)
    entry.validate("\(path).", into: &violations)
    TemplateRules.check(entry, path, &violations)
    var template = entry
    template.etag = Etag.text(version: 1)
    return template
  }

  static func heartbeat(_ entry: Heartbeat, _ path: String, _ violations: inout Violations) -> Heartbeat {
    id(entry.id, "h_", path, &violations)
    entry.validate("\(path).", into: &violations)
    HeartbeatRules.check(entry, path, &violations)
    var heartbeat = entry
    heartbeat.lastBeatTime = nil
    heartbeat.dueTime = nil
    heartbeat.isMissing = false
    heartbeat.etag = Etag.text(version: 1)
    return heartbeat
  }

  static func webhook(_ entry: Webhook, _ path: String, _ violations: inout Violations) -> Webhook {
    id(entry.id, "w_", path, &violations)
    entry.validate("\(path).", into: &violations)
    WebhookRules.check(entry, path, &violations)
    var webhook = entry
    if webhook.method == .unspecified { webhook.method = .post }
    webhook.etag = Etag.text(version: 1)
    return webhook
  }

  static func settings(_ entry: UserSettings, _ path: String, _ violations: inout Violations) -> UserSettings {
    entry.validate("\(path).", into: &violations)
    TimeZoneRules.check(entry.timeZone, "\(path).timeZone", &violations)
    if let hours = entry.quietHours { QuietHoursRules.check(hours, "\(path).quietHours", &violations) }
    var settings = entry
    settings.etag = Etag.text(version: 1)
    return settings
  }

  private static func id(
    _ id: String, _ prefix: StaticString, _ path: String, _ violations: inout Violations
  ) {
    if SortableID.timeMs(of: id, prefix: prefix) == nil {
      violations.add("\(path).id", "is not an id of this kind", .idInvalid)
    }
  }

  /// Checks that times are in the years 1970 to 9999; they are stored in milliseconds since 1970.
  private static func times(
    _ times: [(ProtoTimestamp?, String)], isRequired: Bool, _ path: String, _ violations: inout Violations
  ) {
    for (time, field) in times {
      guard let time else {
        if isRequired { violations.add("\(path).\(field)", "must be given", .required) }
        continue
      }
      if !(0...253_402_300_799).contains(time.seconds) {
        violations.add("\(path).\(field)", "must be in the years 1970 to 9999", .outOfRange)
      }
    }
  }

  /// Applies the rules for new notifications. For these, stored media have a placeholder URL.
  private static func check(_ notification: Notification, _ path: String, _ violations: inout Violations) {
    notification.validate("\(path).", into: &violations)
    var plain = notification
    for index in plain.attachments.indices where !plain.attachments[index].contentId.isEmpty {
      let attachment = plain.attachments[index]
      if !attachment.url.isEmpty || !attachment.data.isEmpty {
        violations.add("\(path).attachments[\(index)].url", "must be empty if contentId is given", .contentInvalid)
      }
      if attachment.contentType.isEmpty {
        violations.add("\(path).attachments[\(index)].contentType", "must not be empty", .required)
      }
      plain.attachments[index].contentId = ""
      plain.attachments[index].contentType = ""
      plain.attachments[index].sizeBytes = 0
      plain.attachments[index].data = []
      // Placeholder for the medium, which is checked by its digest.
      plain.attachments[index].url = "https://content/"
    }
    // The caller checks the notification's times.
    for field in NotificationField.allCases where field != .expireTime {
      NotificationRules.check(field, of: plain, path, nowMs: 0, &violations)
    }
  }

  /// Checks that the content of every attachment is present and matches its id.
  private static func contents(
    of notification: Notification, _ contents: [String: [UInt8]], _ path: String, _ violations: inout Violations
  ) {
    guard contents.values.reduce(0, { $0 + $1.count }) <= contentsSizeBytesMax else {
      return violations.add("\(path).attachments", "must have at most \(contentsSizeBytesMax) bytes in all", .tooLong)
    }
    for (index, attachment) in notification.attachments.enumerated() where !attachment.contentId.isEmpty {
      guard let data = contents[attachment.contentId], contentID(data) == attachment.contentId else {
        violations.add("\(path).attachments[\(index)].contentId", "is not the digest of a content", .contentInvalid)
        continue
      }
    }
  }

  static func contentID(_ data: [UInt8]) -> String? {
    do throws(CryptoError) {
      return try SHA256.digest(data).hexadecimal
    } catch {
      return nil
    }
  }
}
