import CampanileAPI

/// The two files that the service writes for a user, and their names.
struct ExportedFiles: Sendable, Hashable {
  static let bucketsName = "buckets.json"
  static let notificationsName = "notifications.json"

  /// The apps' names of the records that contain the files.
  private static let recordNames = ["buckets_data": bucketsName, "notifications_data": notificationsName]

  var buckets: [UInt8]
  var notifications: [UInt8]

  init(buckets: [Bucket], notifications: [Notification], atMs: Int64) {
    self.buckets = ContainerWriter.buckets(buckets, atMs: atMs)
    self.notifications = ContainerWriter.notifications(notifications, atMs: atMs)
  }

  /// The name, record type and content of each.
  var all: [(name: String, recordType: String, content: [UInt8])] {
    [
      (Self.bucketsName, NameRules.bucketsType, buckets),
      (Self.notificationsName, NameRules.notificationsType, notifications),
    ]
  }

  /// Whether the service writes this file unless a device does.
  static func contains(_ name: String, in zone: String) -> Bool {
    zone == NameRules.defaultZone && (name == bucketsName || name == notificationsName)
  }

  /// Returns the name of a file for its record name; nil for other names.
  static func fileName(_ name: String, in zone: String) -> String? {
    zone == NameRules.defaultZone ? recordNames[name] : nil
  }
}
