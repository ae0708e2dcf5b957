import CampanileAPI
import CampanileCodec

/// One row of the change log.
struct Change: Sendable, Hashable {
  /// The numbers are in the database: never reuse one.
  enum Kind: Int64, Sendable {
    case notificationCreated = 1
    case notificationUpdated = 2
    case notificationDeleted = 3
    case bucketCreated = 4
    case bucketUpdated = 5
    case bucketDeleted = 6
    /// Everything unread through `notificationID` was marked read: of the bucket, or with an empty one of the user.
    case markedRead = 8
  }

  /// Ascending without gaps in the order of the commits, of all users together.
  var sequence: Int64
  var kind: Kind
  /// The bucket, or the notification's bucket after the change.
  var bucketID: String
  /// Empty for a bucket's change.
  var notificationID: String
  /// The bucket that a notification was moved from.
  var previousBucketID: String?
  var timeMs: Int64
  /// Whether devices are to tell their user.
  var isAlert = false
  /// A bucket after the change as ProtoJSON; otherwise empty.
  var payload: [UInt8]
  /// The notification as it is when the change is read; nil when it is gone.
  var notification: Notification?
}

extension Change {
  /// The event for a watch of `bucketID` (nil: of everything); nil when it does not concern it.
  ///
  /// A notification that moves out of the watched bucket is deleted there. Throws when the payload cannot be read.
  func event(watching watched: String?) throws(ProtoJSONError) -> WatchNotificationsResponse.Event? {
    if let watched, watched != bucketID, kind != .markedRead || !bucketID.isEmpty {
      guard watched == previousBucketID else { return nil }
      return Self.notificationDeleted(notificationID, watched)
    }
    switch kind {
    case .notificationCreated: return current.map { .notificationCreated($0) }
    case .notificationUpdated: return current.map { .notificationUpdated($0) }
    case .notificationDeleted: return Self.notificationDeleted(notificationID, bucketID)
    case .bucketCreated: return .bucketCreated(try Bucket(jsonUTF8: payload, options: Self.lenient))
    case .bucketUpdated: return .bucketUpdated(try Bucket(jsonUTF8: payload, options: Self.lenient))
    case .bucketDeleted:
      var deleted = WatchNotificationsResponse.BucketDeleted()
      deleted.bucketId = bucketID
      return .bucketDeleted(deleted)
    case .markedRead:
      var marked = WatchNotificationsResponse.NotificationsMarkedRead()
      marked.bucketId = bucketID
      marked.throughNotificationId = notificationID
      marked.readTime = ProtoTimestamp(millisecondsSince1970: timeMs)
      return .notificationsMarkedRead(marked)
    }
  }

  /// The notification, unless it has moved on since: then the event of that follows.
  private var current: Notification? { notification?.bucketId == bucketID ? notification : nil }

  /// A payload may have been written by an older program.
  private static let lenient = JSONDecodingOptions(ignoreUnknownFields: true)

  private static func notificationDeleted(_ id: String, _ bucketID: String) -> WatchNotificationsResponse.Event {
    var deleted = WatchNotificationsResponse.NotificationDeleted()
    deleted.notificationId = id
    deleted.bucketId = bucketID
    return .notificationDeleted(deleted)
  }
}
