import CampanileAPI

/// Builds a watch's view of a notification.
///
/// The base actions are mark as read, delete and open, in this order, even if the notification has no such actions. If
/// it has one of these types, that action provides title and icon. The other actions follow in their own order, each
/// with a label.
enum LongLookRules {
  static let markAsReadID = "mark_as_read"
  static let deleteID = "delete"
  static let openID = "open"

  static func longLook(_ notification: Notification, bucket: Bucket) -> LongLook {
    var look = LongLook(
      notificationId: notification.id, title: notification.title, subtitle: notification.subtitle,
      body: notification.body)
    if let image = image(of: notification) {
      look.imageUrl = image.url.isEmpty ? nil : image.url
      look.imageContentId = image.contentId.isEmpty ? nil : image.contentId
    }
    look.isRead = notification.readTime != nil
    look.baseActions = baseActions(of: notification)
    look.actions = notification.actions.enumerated().compactMap { index, action in
      isBase(action, of: notification) ? nil : otherAction(action, index: index)
    }
    look.bucketId = notification.bucketId
    look.bucketName = bucket.name
    look.bucketIconUrl = bucket.iconUrl
    look.createTime = notification.createTime
    return look
  }

  /// The first image with a URL or content, or else the first such GIF.
  private static func image(of notification: Notification) -> Attachment? {
    let shown = notification.attachments.filter { !$0.url.isEmpty || !$0.contentId.isEmpty }
    return shown.first { $0.mediaType == .image } ?? shown.first { $0.mediaType == .gif }
  }

  private static func baseActions(of notification: Notification) -> [LongLookAction] {
    // Icons are names of SF Symbols, like those of the notification's own actions.
    let markAsRead = baseAction(
      markAsReadID, .markAsRead, of: notification, label: "Mark as read", icon: "checkmark.circle.fill")
    let delete = baseAction(deleteID, .delete, of: notification, label: "Delete", icon: "trash.circle.fill")
    let open = baseAction(openID, .openNotification, of: notification, label: "Open", icon: "arrow.right.circle.fill")
    return notification.readTime == nil ? [markAsRead, delete, open] : [delete, open]
  }

  private static func baseAction(
    _ id: String, _ type: ActionType, of notification: Notification, label: String, icon: String
  ) -> LongLookAction {
    let own = notification.actions.first { $0.type == type && isBase($0, of: notification) }
    return LongLookAction(
      actionId: id, label: own.map(\.title).flatMap { $0.isEmpty ? nil : $0 } ?? label,
      icon: own.map(\.icon).flatMap { $0.isEmpty ? nil : $0 } ?? icon,
      destructive: type == .delete || own?.destructive == true)
  }

  /// Whether an action has the effect of a base action. An action that opens another notification does not.
  private static func isBase(_ action: Action, of notification: Notification) -> Bool {
    switch action.type {
    case .markAsRead, .delete: true
    case .openNotification: action.value.isEmpty || action.value == notification.id
    default: false
    }
  }

  private static func otherAction(_ action: Action, index: Int) -> LongLookAction {
    LongLookAction(
      actionId: String(index), label: action.title.isEmpty ? label(of: action) : action.title, icon: action.icon,
      destructive: action.destructive)
  }

  private static func label(of action: Action) -> String {
    switch action.type {
    case .navigate: "Open link"
    case .backgroundCall: "Call"
    case .snooze: "Snooze \(action.value) min"
    case .postpone: "Postpone \(action.value) min"
    case .webhook: "Run webhook"
    case .openNotification: "Open other"
    case .markAsRead: "Mark as read"
    case .delete: "Delete"
    case .unspecified, .unrecognized: "Run"
    }
  }
}
