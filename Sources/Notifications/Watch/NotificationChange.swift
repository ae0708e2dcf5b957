import CampanileAPI
import CampanileCodec

/// One row of the change log.
struct NotificationChange: Sendable, Hashable {
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
  /// For a bucket, its ProtoJSON after the change; otherwise empty.
  var payload: [UInt8]
  /// The notification at the time of reading; nil if it no longer exists.
  var notification: Notification?
}

extension NotificationChange {
  /// Returns the event for a watch, or nil if the change does not concern it.
  ///
  /// A notification that moves out of the watched bucket is reported as deleted there. Throws if the payload cannot be
  /// decoded.
  ///
  /// - Parameter watched: The watched bucket; nil for all buckets.
  func event(watching watched: String?) throws(ProtoJSONError) -> WatchNotificationsResponse.Event? {
    if let watched, watched != bucketID, kind != .markedRead || !bucketID.isEmpty {
      guard watched == previousBucketID else { return nil }
      return Self.notificationDeleted(notificationID, watched)
    }
    switch kind {
    case .notificationCreated: return current.map { .notificationCreated($0) }
    case .notificationUpdated: return current.map { .notificationUpdated($0) }
    case .notificationDeleted: return Self.notificationDeleted(notificationID, bucketID)
    case .bucketCreated: return .bucketCreated(try Bucket(jsonUTF8: payload))
    case .bucketUpdated: return .bucketUpdated(try Bucket(jsonUTF8: payload))
    case .bucketDeleted:
      let deleted = WatchNotificationsResponse.BucketDeleted(bucketId: bucketID)
      return .bucketDeleted(deleted)
    case .markedRead:
      let marked = WatchNotificationsResponse.NotificationsMarkedRead(
        bucketId: bucketID, throughNotificationId: notificationID,
        readTime: ProtoTimestamp(millisecondsSince1970: timeMs))
      return .notificationsMarkedRead(marked)
    }
  }

  /// The notification, unless it has been moved since; that event follows.
  private var current: Notification? { notification?.bucketId == bucketID ? notification : nil }

  private static func notificationDeleted(_ id: String, _ bucketID: String) -> WatchNotificationsResponse.Event {
    let deleted = WatchNotificationsResponse.NotificationDeleted(notificationId: id, bucketId: bucketID)
    return .notificationDeleted(deleted)
  }
}
