import CampanileAPI

/// Builds a watch's view of a notification.
///
/// The base actions are always mark as read, delete and open, in this order, with the labels, icons and colours of the
/// watch app. The notification's own actions of these types are not repeated; with `hasOwnLabels`, they provide title
/// and icon. The other actions follow in their own order, each with a label.
enum LongLookRules {
  static let markAsReadID = "mark_as_read"
  static let deleteID = "delete"
  static let openID = "open"

  static func longLook(_ notification: Notification, bucket: Bucket, hasOwnLabels: Bool = false) -> LongLook {
    var look = LongLook(
      notificationId: notification.id, title: notification.title, subtitle: notification.subtitle,
      body: notification.body)
    if let image = image(of: notification) {
      look.imageUrl = image.url.isEmpty ? nil : image.url
      look.imageContentId = image.contentId.isEmpty ? nil : image.contentId
    }
    look.isRead = notification.readTime != nil
    look.baseActions = BaseAction.allCases.map { base in
      let own = notification.actions.first { $0.type == base.type && isBase($0, of: notification) }
      return base.action(of: notification, labelledBy: hasOwnLabels ? own : nil)
    }
    look.actions = notification.actions.enumerated().compactMap { index, action in
      isBase(action, of: notification) ? nil : otherAction(action, index: index)
    }
    look.bucketId = notification.bucketId
    look.bucketName = bucket.name
    look.bucketIconUrl = bucket.iconUrl
    look.createTime = notification.createTime
    look.tapUrl = notification.tapURL
    return look
  }

  /// The first image with a URL or content, or else the first such GIF.
  private static func image(of notification: Notification) -> Attachment? {
    let shown = notification.attachments.filter { !$0.url.isEmpty || !$0.contentId.isEmpty }
    return shown.first { $0.mediaType == .image } ?? shown.first { $0.mediaType == .gif }
  }

  /// A button that every notification has. Icons are names of SF Symbols, colours those of iOS.
  private enum BaseAction: CaseIterable {
    case markAsRead, delete, open

    var type: ActionType {
      switch self {
      case .markAsRead: .markAsRead
      case .delete: .delete
      case .open: .openNotification
      }
    }

    /// - Parameter own: The notification's own action, whose title and icon are used if they are not empty.
    func action(of notification: Notification, labelledBy own: Action?) -> LongLookAction {
      let look: (id: String, label: String, icon: String, color: String, value: String) =
        switch self {
        case .markAsRead:
          (markAsReadID, "Mark", "checkmark.circle.fill", "#34C759", ActionRules.markAsReadValue)
        case .delete: (deleteID, "Delete", "trash.circle.fill", "#FF3B30", ActionRules.deleteValue)
        case .open: (openID, "Open", "arrow.right.circle.fill", "#007AFF", notification.id)
        }
      return LongLookAction(
        actionId: look.id, label: own.map(\.title).flatMap { $0.isEmpty ? nil : $0 } ?? look.label,
        icon: own.map(\.icon).flatMap { $0.isEmpty ? nil : $0 } ?? look.icon,
        destructive: self == .delete || own?.destructive == true, type: type, value: look.value, color: look.color)
    }
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
      destructive: action.destructive, type: action.type, value: action.value)
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
