import CampanileAPI
import CampanileCodec

/// One row of the change log.
struct LoggedChange: Sendable, Hashable {
  /// The raw values are stored: never reuse one.
  enum Kind: Int64, Sendable {
    case notificationCreated = 1
    case notificationUpdated = 2
    case notificationDeleted = 3
    case bucketCreated = 4
    case bucketUpdated = 5
    case bucketDeleted = 6
    /// Everything unread through `notificationID` was marked as read, in the bucket or, if `bucketID` is empty, for the
    /// user.
    case markedRead = 8
  }

  /// Ascends without gaps in commit order, across all users.
  var sequence: Int64
  var kind: Kind
  /// The bucket, or the notification's bucket after the change.
  var bucketID: String
  /// Empty for a change of a bucket.
  var notificationID: String
  /// The bucket from which the notification was moved.
  var previousBucketID: String?
  var timeMs: Int64
  /// Whether devices should alert their user.
  var isAlert = false
  /// The notification at the time of reading; nil if it no longer exists.
  var notification: Notification?
  /// The bucket at the time of reading, for a change of a bucket; nil if it no longer exists.
  var bucket: Bucket?
}

extension LoggedChange {
  /// Returns the change for a client, or nil if it does not concern the client.
  ///
  /// A notification that moves out of the watched bucket is reported as deleted there. A change of an object that no
  /// longer exists is skipped, because its deletion follows.
  ///
  /// - Parameter watched: The watched bucket; nil for all buckets.
  func message(watching watched: String?) -> NotificationChange? {
    change(watching: watched).map {
      NotificationChange(
        changeTime: ProtoTimestamp(millisecondsSince1970: timeMs), change: $0, alert: isAlert)
    }
  }

  private func change(watching watched: String?) -> NotificationChange.Change? {
    if let watched, watched != bucketID, kind != .markedRead || !bucketID.isEmpty {
      guard watched == previousBucketID else { return nil }
      return Self.notificationDeleted(notificationID, watched)
    }
    switch kind {
    case .notificationCreated: return current.map { .notificationCreated($0) }
    case .notificationUpdated: return current.map { .notificationUpdated($0) }
    case .notificationDeleted: return Self.notificationDeleted(notificationID, bucketID)
    case .bucketCreated: return bucket.map { .bucketCreated($0) }
    case .bucketUpdated: return bucket.map { .bucketUpdated($0) }
    case .bucketDeleted: return .bucketDeleted(.init(bucketId: bucketID))
    case .markedRead:
      let readTime = ProtoTimestamp(millisecondsSince1970: timeMs)
      return .notificationsMarkedRead(
        .init(bucketId: bucketID, throughNotificationId: notificationID, readTime: readTime))
    }
  }

  /// The notification, unless it has been moved since; that event follows.
  private var current: Notification? { notification?.bucketId == bucketID ? notification : nil }

  private static func notificationDeleted(_ id: String, _ bucketID: String) -> NotificationChange.Change {
    .notificationDeleted(.init(notificationId: id, bucketId: bucketID))
  }
}
