import CampanileNotifications

/// The unread notifications of a user, newest first. No I/O.
struct UnreadList {
  private(set) var notifications: [CampanileNotifications.Notification] = []
  /// Notifications whose change waits in the outbox: they count as read until the server has refused it.
  private(set) var waiting: Set<String> = []

  /// Replaces the list by what the server has returned.
  mutating func replace(by loaded: [CampanileNotifications.Notification]) {
    notifications = loaded.filter { $0.readTime == nil && !waiting.contains($0.id) }.sorted { $0.id > $1.id }
  }

  /// Sets the notifications whose change waits. Returns whether one has left without the list knowing its result.
  mutating func waits(for ids: Set<String>) -> Bool {
    defer { waiting = ids }
    notifications.removeAll { ids.contains($0.id) }
    return !waiting.isSubset(of: ids)
  }

  /// Applies a change of the user's notifications.
  mutating func apply(_ change: NotificationChange) {
    switch change.change {
    case .notificationCreated(let notification), .notificationUpdated(let notification): set(notification)
    case .notificationDeleted(let deleted): notifications.removeAll { $0.id == deleted.notificationId }
    case .bucketDeleted(let deleted): notifications.removeAll { $0.bucketId == deleted.bucketId }
    case .notificationsMarkedRead(let marked):
      notifications.removeAll {
        (marked.bucketId.isEmpty || $0.bucketId == marked.bucketId) && $0.id <= marked.throughNotificationId
      }
    case .bucketCreated, .bucketUpdated, nil: break
    }
  }

  private mutating func set(_ notification: CampanileNotifications.Notification) {
    notifications.removeAll { $0.id == notification.id }
    guard notification.readTime == nil, !waiting.contains(notification.id) else { return }
    let index = notifications.firstIndex { $0.id < notification.id } ?? notifications.endIndex
    notifications.insert(notification, at: index)
  }
}
