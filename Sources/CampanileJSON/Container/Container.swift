/// The two files that apps exchange through the sync service. The raw value is the record type they are stored under.
public enum Container: String, Sendable, Hashable, CaseIterable {
  /// `buckets.json`: `{"buckets": [...], "syncTimestamp": "..."}`.
  case buckets = "BucketsData"
  /// `notifications.json`: `{"notifications": [...], "syncTimestamp": "..."}`.
  case notifications = "NotificationsData"

  /// The name of the member that contains the records.
  public var recordsName: String {
    switch self {
    case .buckets: "buckets"
    case .notifications: "notifications"
    }
  }
}
