import CampanileAPI
import CampanileCodec
import CampanileService

/// The fields of a notification that callers may change.
enum NotificationField: String, MaskableField {
  case title, subtitle, body, priority, attachments, actions
  case tapAction = "tap_action"
  case bucketID = "bucket_id"
  case expireTime = "expire_time"
  case `repeat`

  func isSet(in message: Notification) -> Bool {
    switch self {
    case .title: !message.title.isEmpty
    case .subtitle: message.subtitle != nil
    case .body: message.body != nil
    case .priority: message.priority != .unspecified
    case .attachments: !message.attachments.isEmpty
    case .actions: !message.actions.isEmpty
    case .tapAction: message.tapAction != nil
    case .bucketID: !message.bucketId.isEmpty
    case .expireTime: message.expireTime != nil
    case .repeat: message.`repeat` != nil
    }
  }

  func copy(from source: Notification, to target: inout Notification) {
    switch self {
    case .title: target.title = source.title
    case .subtitle: target.subtitle = source.subtitle
    case .body: target.body = source.body
    case .priority: target.priority = source.priority == .unspecified ? .normal : source.priority
    case .attachments: target.attachments = source.attachments
    case .actions: target.actions = source.actions
    case .tapAction: target.tapAction = source.tapAction
    case .bucketID: target.bucketId = source.bucketId
    case .expireTime: target.expireTime = source.expireTime
    case .repeat:
      var plan = source.`repeat`
      if plan?.maxCount == 0 { plan?.maxCount = Self.repeatCountDefault }
      plan?.count = target.`repeat`?.count ?? 0
      target.`repeat` = plan
    }
  }

  static let repeatCountDefault: Int32 = 5
}

/// The fields of a bucket that admins may change. All members have the same values.
enum BucketField: String, MaskableField {
  case name, description, color
  case iconURL = "icon_url"
  case isOrphan = "is_orphan"

  func isSet(in message: Bucket) -> Bool {
    switch self {
    case .name: !message.name.isEmpty
    case .description: message.description != nil
    case .color: message.color != nil
    case .iconURL: message.iconUrl != nil
    case .isOrphan: message.isOrphan
    }
  }

  func copy(from source: Bucket, to target: inout Bucket) {
    switch self {
    case .name: target.name = source.name
    case .description: target.description = source.description
    case .color: target.color = source.color
    case .iconURL: target.iconUrl = source.iconUrl
    case .isOrphan: target.isOrphan = source.isOrphan
    }
  }
}

/// The fields of a user's settings for a bucket that the user may change.
enum BucketSettingsField: String, MaskableField {
  case isMuted = "is_muted"
  case snoozeEndTime = "snooze_end_time"
  case quietHours = "quiet_hours"
  case retention

  func isSet(in message: BucketSettings) -> Bool {
    switch self {
    case .isMuted: message.isMuted
    case .snoozeEndTime: message.snoozeEndTime != nil
    case .quietHours: message.quietHours != nil
    case .retention: message.retention != nil
    }
  }

  /// Copies the field's value in the stored resolution of milliseconds.
  func copy(from source: BucketSettings, to target: inout BucketSettings) {
    switch self {
    case .isMuted: target.isMuted = source.isMuted
    case .snoozeEndTime:
      target.snoozeEndTime = source.snoozeEndTime.map {
        ProtoTimestamp(millisecondsSince1970: $0.millisecondsSince1970)
      }
    case .quietHours: target.quietHours = source.quietHours
    case .retention:
      target.retention = source.retention == RetentionPolicy() ? nil : source.retention
      target.retention?.afterRead = source.retention?.afterRead.map { ProtoDuration(milliseconds: $0.milliseconds) }
    }
  }
}

/// The fields of the settings that callers may change.
enum SettingsField: String, MaskableField {
  case timeZone = "time_zone"
  case quietHours = "quiet_hours"
  case summarySize = "summary_size"

  func isSet(in message: UserSettings) -> Bool {
    switch self {
    case .timeZone: !message.timeZone.isEmpty
    case .quietHours: message.quietHours != nil
    case .summarySize: message.summarySize != 0
    }
  }

  func copy(from source: UserSettings, to target: inout UserSettings) {
    switch self {
    case .timeZone: target.timeZone = source.timeZone
    case .quietHours: target.quietHours = source.quietHours
    case .summarySize: target.summarySize = source.summarySize
    }
  }
}
