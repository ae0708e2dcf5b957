import CampanileAPI
import CampanileCodec

/// Applies an update's mask (AIP-134): names which fields of the stored record the update replaces.
enum UpdateMasks {
  static let bucketFields = ["name", "description", "color", "icon_url", "is_orphan"]
  static let notificationFields = [
    "title", "subtitle", "body", "priority", "attachments", "actions", "tap_action", "bucket_id",
  ]

  /// The fields to replace. Without a mask, those that are set; `*` is all of them.
  static func fields(
    _ mask: ProtoFieldMask?, known: [String], populated: [String], into violations: inout Violations
  ) -> Set<String> {
    guard let mask, !mask.paths.isEmpty else {
      if populated.isEmpty { violations.add("update_mask", "names no field, and none is set", "REQUIRED") }
      return Set(populated)
    }
    if mask.paths == ["*"] { return Set(known) }
    for path in mask.paths where !known.contains(path) {
      violations.add("update_mask", "\(path.debugDescription) is no field that can be updated", "MASK_FIELD_UNKNOWN")
    }
    return Set(mask.paths)
  }

  static func populated(_ bucket: Bucket) -> [String] {
    var fields: [String] = []
    if !bucket.name.isEmpty { fields.append("name") }
    if bucket.description != nil { fields.append("description") }
    if bucket.color != nil { fields.append("color") }
    if bucket.iconUrl != nil { fields.append("icon_url") }
    if bucket.isOrphan { fields.append("is_orphan") }
    return fields
  }

  static func populated(_ notification: Notification) -> [String] {
    var fields: [String] = []
    if !notification.title.isEmpty { fields.append("title") }
    if notification.subtitle != nil { fields.append("subtitle") }
    if notification.body != nil { fields.append("body") }
    if notification.priority != .unspecified { fields.append("priority") }
    if !notification.attachments.isEmpty { fields.append("attachments") }
    if !notification.actions.isEmpty { fields.append("actions") }
    if notification.tapAction != nil { fields.append("tap_action") }
    if !notification.bucketId.isEmpty { fields.append("bucket_id") }
    return fields
  }

  static func apply(_ change: Bucket, to bucket: inout Bucket, _ fields: Set<String>) {
    if fields.contains("name") { bucket.name = change.name }
    if fields.contains("description") { bucket.description = change.description }
    if fields.contains("color") { bucket.color = change.color }
    if fields.contains("icon_url") { bucket.iconUrl = change.iconUrl }
    if fields.contains("is_orphan") { bucket.isOrphan = change.isOrphan }
  }

  static func apply(_ change: Notification, to notification: inout Notification, _ fields: Set<String>) {
    if fields.contains("title") { notification.title = change.title }
    if fields.contains("subtitle") { notification.subtitle = change.subtitle }
    if fields.contains("body") { notification.body = change.body }
    if fields.contains("priority") { notification.priority = change.priority }
    if fields.contains("attachments") { notification.attachments = change.attachments }
    if fields.contains("actions") { notification.actions = change.actions }
    if fields.contains("tap_action") { notification.tapAction = change.tapAction }
    if fields.contains("bucket_id") { notification.bucketId = change.bucketId }
  }
}
