/// The changes that the user's devices have made since the files were written. No I/O.
struct SyncOverlay: Hashable {
  /// The time of reading, by the id of the notification.
  private(set) var read: [String: String] = [:]
  private(set) var deleted: Set<String> = []
  private(set) var deletedBuckets: Set<String> = []

  /// Records a message. Returns whether it can only be applied by reading the files again.
  mutating func add(_ message: CompanionMessage) -> Bool {
    switch (message.type, message.entityId) {
    case (.notificationRead, let id?): read[id] = message.timestamp
    case (.notificationDeleted, let id?): deleted.insert(id)
    case (.bucketDeleted, let id?): deletedBuckets.insert(id)
    default: return true
    }
    return false
  }

  func apply(_ notifications: [SyncNotification]) -> [SyncNotification] {
    notifications.compactMap { notification in
      guard !deleted.contains(notification.id), !deletedBuckets.contains(notification.bucketId) else { return nil }
      guard notification.readAt == nil, let time = read[notification.id] else { return notification }
      var notification = notification
      notification.readAt = time
      return notification
    }
  }

  func apply(_ buckets: [SyncBucket]) -> [SyncBucket] { buckets.filter { !deletedBuckets.contains($0.id) } }
}
