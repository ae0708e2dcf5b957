/// The two files that apps exchange by the sync service, by the record type that they are stored under.
public enum Container: String, Sendable, Hashable, CaseIterable {
  /// `buckets.json`: `{"buckets": [...], "syncTimestamp": "..."}`.
  case buckets = "BucketsData"
  /// `notifications.json`: `{"notifications": [...], "syncTimestamp": "..."}`.
  case notifications = "NotificationsData"

  /// The name of the member that has the records.
  public var recordsName: String {
    switch self {
    case .buckets: "buckets"
    case .notifications: "notifications"
    }
  }
}
