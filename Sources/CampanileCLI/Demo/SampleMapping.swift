internal import CampanileAPI
internal import CampanileCodec

// Maps the sample to the service's messages. The service rejects unknown kinds, which become UNSPECIFIED, with the path
// of the field.

extension SampleFile.Bucket {
  var message: CampanileAPI.Bucket {
    CampanileAPI.Bucket(
      name: name, description: description, color: color, iconUrl: iconUrl, isOrphan: isOrphan ?? false)
  }
}

extension SampleFile.Entry {
  /// Returns the notification in the bucket with the server's id `bucketID`.
  func message(bucketID: String) -> CampanileAPI.Notification {
    CampanileAPI.Notification(
      bucketId: bucketID, title: title, subtitle: subtitle, body: body, priority: sentAt == nil ? .silent : .normal,
      attachments: attachments.map(\.message), actions: actions.map(\.message), tapAction: tapAction?.message)
  }
}

extension SampleFile.Attachment {
  var message: CampanileAPI.Attachment {
    CampanileAPI.Attachment(mediaType: Self.types[mediaType] ?? .unspecified, url: url ?? "", name: name ?? "")
  }

  private static let types: [String: CampanileAPI.Attachment.MediaType] = [
    "IMAGE": .image, "VIDEO": .video, "AUDIO": .audio, "GIF": .gif, "ICON": .icon, "FILE": .file,
  ]
}

extension SampleFile.Action {
  var message: CampanileAPI.Action {
    CampanileAPI.Action(
      type: Self.types[type] ?? .unspecified, value: value ?? "", destructive: destructive, title: title ?? "",
      icon: icon ?? "")
  }

  private static let types: [String: ActionType] = [
    "NAVIGATE": .navigate, "BACKGROUND_CALL": .backgroundCall, "MARK_AS_READ": .markAsRead, "SNOOZE": .snooze,
    "POSTPONE": .postpone, "OPEN_NOTIFICATION": .openNotification, "WEBHOOK": .webhook, "DELETE": .delete,
  ]
}
