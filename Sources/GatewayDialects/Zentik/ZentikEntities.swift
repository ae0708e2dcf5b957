import CampanileAPI
import CampanileCodec

/// Notifications in the format of the app's server: an entity with a nested message and its bucket.
///
/// A notification is also its message, so both have one id. Absent values are null, as on the app's server.
enum ZentikEntities {
  /// - Parameter receivedTime: The time at which a device has just reported it; nil if it is not known.
  static func notification(
    _ notification: Notification, of bucket: Bucket?, receivedTime: ProtoTimestamp? = nil
  ) -> JSONTree {
    .object([
      "id": .string(notification.id), "messageId": .string(notification.id),
      "message": message(notification, of: bucket), "receivedAt": time(receivedTime),
      "readAt": time(notification.readTime), "sentAt": time(notification.sendTime), "error": .null,
      "createdAt": time(notification.createTime), "updatedAt": time(notification.updateTime), "userDeviceId": .null,
    ])
  }

  /// Returns the JSON of a postponement. A notification has at most one, which therefore has its id.
  static func postpone(_ notification: Notification) -> JSONTree {
    .object([
      "id": .string(notification.id), "notificationId": .string(notification.id),
      "messageId": .string(notification.id), "sendAt": time(notification.releaseTime),
      "createdAt": time(notification.updateTime), "updatedAt": time(notification.updateTime),
    ])
  }

  private static func message(_ notification: Notification, of bucket: Bucket?) -> JSONTree {
    .object([
      "id": .string(notification.id), "title": .string(notification.title),
      "subtitle": optional(notification.subtitle), "body": optional(notification.body),
      "deliveryType": .string(word(notification.priority, ZentikMessage.deliveryTypes) ?? "NORMAL"),
      "attachments": .array(notification.attachments.map(attachment)),
      "actions": .array(notification.actions.map(action)),
      "tapAction": notification.tapAction.map(action) ?? .null, "sound": nonEmpty(notification.sound),
      "groupId": nonEmpty(notification.threadId), "collapseId": nonEmpty(notification.collapseKey),
      "tags": .array([]), "bucketId": .string(notification.bucketId),
      "bucket": self.bucket(bucket ?? Bucket(id: notification.bucketId)),
      "createdAt": time(notification.createTime), "updatedAt": time(notification.updateTime),
    ])
  }

  private static func bucket(_ bucket: Bucket) -> JSONTree {
    .object([
      "id": .string(bucket.id), "name": .string(bucket.name), "description": optional(bucket.description),
      "color": optional(bucket.color), "iconUrl": optional(bucket.iconUrl), "createdAt": time(bucket.createTime),
      "updatedAt": time(bucket.updateTime),
    ])
  }

  private static func attachment(_ attachment: Attachment) -> JSONTree {
    .object([
      "mediaType": .string(word(attachment.mediaType, ZentikMessage.mediaTypes) ?? "FILE"),
      "url": nonEmpty(attachment.url), "name": nonEmpty(attachment.name),
    ])
  }

  private static func action(_ action: Action) -> JSONTree {
    .object([
      "type": .string(word(action.type, ZentikMessage.actionTypes) ?? ""), "value": nonEmpty(action.value),
      "destructive": .bool(action.destructive), "icon": nonEmpty(action.icon), "title": nonEmpty(action.title),
    ])
  }

  private static func word<Value: Equatable>(_ value: Value, _ words: [String: Value]) -> String? {
    words.first { $0.value == value }?.key
  }

  private static func optional(_ text: String?) -> JSONTree { text.map { .string($0) } ?? .null }
  private static func nonEmpty(_ text: String) -> JSONTree { text.isEmpty ? .null : .string(text) }

  private static func time(_ time: ProtoTimestamp?) -> JSONTree {
    time.map { .string(DialectTimes.text($0)) } ?? .null
  }
}
