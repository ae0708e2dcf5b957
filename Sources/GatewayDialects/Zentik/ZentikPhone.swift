import CampanileAPI
import CampanileRPC

/// The calls of the app's phone in addition to those that it shares with the watch.
enum ZentikPhone {
  enum Action: Sendable, Hashable {
    case list, get(String), markAllRead
    case received(String), receivedThrough
    case listPostponed, cancelPostponed(String)

    var takesBody: Bool {
      switch self {
      case .received, .receivedThrough: true
      case .list, .get, .markAllRead, .listPostponed, .cancelPostponed: false
      }
    }

    /// The method that decides about the access.
    var method: MethodDescriptor {
      switch self {
      case .list: NotificationsServiceMethods.listNotifications
      case .get: NotificationsServiceMethods.getNotification
      case .markAllRead: NotificationsServiceMethods.markAllNotificationsRead
      case .received, .receivedThrough: EngagementServiceMethods.batchRecordEngagement
      case .listPostponed: NotificationsServiceMethods.listPostponedNotifications
      case .cancelPostponed: NotificationsServiceMethods.cancelPostponement
      }
    }
  }

  private static let fixedNames: Set<String> = ["mark-all-read", "update-received", "postpones"]

  /// Whether the second segment is a name and not the id of a notification.
  static func isFixed(_ path: [String]) -> Bool { path.count > 1 && fixedNames.contains(path[1]) }

  /// Returns the actions at a path, by HTTP method.
  static func actions(_ path: [String]) -> [String: Action] {
    guard path.first == "notifications" else { return [:] }
    switch (path.count, path.count > 1 ? path[1] : "") {
    case (1, _): return ["GET": .list]
    case (2, "mark-all-read"): return ["PATCH": .markAllRead]
    case (2, "update-received"): return ["PATCH": .receivedThrough]
    case (2, "postpones"): return ["GET": .listPostponed]
    case (2, let id): return ["GET": .get(id)]
    case (3, "postpones"): return ["DELETE": .cancelPostponed(path[2])]
    case (3, let id) where !isFixed(path) && id != "batch" && path[2] == "device-received":
      return ["PATCH": .received(id)]
    default: return [:]
    }
  }
}
