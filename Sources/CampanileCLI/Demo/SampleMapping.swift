internal import CampanileAPI
internal import CampanileCodec

// Maps the sample to the service's messages. The service rejects unknown kinds, which become UNSPECIFIED, with the path
// of the field.

extension SampleFile.Bucket {
  var message: CampanileAPI.Bucket {
    var bucket = CampanileAPI.Bucket()
    bucket.name = name
    bucket.description = description
    bucket.color = color
    bucket.iconUrl = iconUrl
    bucket.isOrphan = isOrphan ?? false
    return bucket
  }
}

extension SampleFile.Entry {
  /// Returns the notification in the bucket with the server's id `bucketID`.
  func message(bucketID: String) -> CampanileAPI.Notification {
    var notification = CampanileAPI.Notification()
    notification.bucketId = bucketID
    notification.title = title
    notification.subtitle = subtitle
    notification.body = body
    notification.priority = sentAt == nil ? .silent : .normal
    notification.attachments = attachments.map(\.message)
    notification.actions = actions.map(\.message)
    notification.tapAction = tapAction?.message
    return notification
  }
}

extension SampleFile.Attachment {
  var message: CampanileAPI.Attachment {
    var attachment = CampanileAPI.Attachment()
    attachment.mediaType = Self.types[mediaType] ?? .unspecified
    attachment.url = url ?? ""
    attachment.name = name ?? ""
    return attachment
  }

  private static let types: [String: CampanileAPI.Attachment.MediaType] = [
    "IMAGE": .image, "VIDEO": .video, "AUDIO": .audio, "GIF": .gif, "ICON": .icon, "FILE": .file,
  ]
}

extension SampleFile.Action {
  var message: CampanileAPI.Action {
    var action = CampanileAPI.Action()
    action.type = Self.types[type] ?? .unspecified
    action.value = value ?? ""
    action.destructive = destructive
    action.title = title ?? ""
    action.icon = icon ?? ""
    return action
  }

  private static let types: [String: ActionType] = [
    "NAVIGATE": .navigate, "BACKGROUND_CALL": .backgroundCall, "MARK_AS_READ": .markAsRead, "SNOOZE": .snooze,
    "POSTPONE": .postpone, "OPEN_NOTIFICATION": .openNotification, "WEBHOOK": .webhook, "DELETE": .delete,
  ]
}
