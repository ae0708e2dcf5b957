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

/// The shape of the two containers as the apps' decoders want it. Members that it does not name are allowed anywhere, and
/// so is null for those that are not required.
enum ContainerSchema {
  /// What a value must be. The raw values are kept in saved states.
  enum Shape: Sendable, Hashable {
    case any
    case string
    /// A string that is not empty.
    case id
    /// A string with an ISO 8601 date and time in the form of RFC 3339.
    case date
    case bool
    case object(Int)
    case array(of: Int)
  }

  struct Field: Sendable {
    let name: String
    /// The name in UTF-8.
    let bytes: [UInt8]
    let shape: Shape
    let isRequired: Bool

    init(name: String, shape: Shape, isRequired: Bool) {
      self.name = name
      self.bytes = Array(name.utf8)
      self.shape = shape
      self.isRequired = isRequired
    }
  }

  static let attachment = 0
  static let action = 1
  static let bucket = 2
  static let notification = 3
  static let bucketsContainer = 4
  static let notificationsContainer = 5

  static func root(_ container: Container) -> Int {
    switch container {
    case .buckets: bucketsContainer
    case .notifications: notificationsContainer
    }
  }

  static func isRecord(_ object: Int) -> Bool { object == bucket || object == notification }

  /// The fields by object. The records of a container are its first field, the id of a record is its first.
  static let fields: [[Field]] = [
    [required("mediaType", .string), optional("url", .string), optional("name", .string)],
    [
      required("type", .string), required("destructive", .bool), optional("value", .string),
      optional("title", .string), optional("icon", .string),
    ],
    [
      required("id", .id), required("name", .string), required("createdAt", .date), required("updatedAt", .date),
      optional("description", .string), optional("color", .string), optional("iconUrl", .string),
      optional("isOrphan", .bool),
    ],
    [
      required("id", .id), required("title", .string), required("createdAt", .date), required("updatedAt", .date),
      required("bucketId", .string), required("attachments", .array(of: attachment)),
      required("actions", .array(of: action)), optional("subtitle", .string), optional("body", .string),
      optional("readAt", .date), optional("sentAt", .date), optional("tapAction", .object(action)),
    ],
    [required("buckets", .array(of: bucket)), required("syncTimestamp", .date)],
    [required("notifications", .array(of: notification)), required("syncTimestamp", .date)],
  ]

  private static func required(_ name: String, _ shape: Shape) -> Field {
    Field(name: name, shape: shape, isRequired: true)
  }

  private static func optional(_ name: String, _ shape: Shape) -> Field {
    Field(name: name, shape: shape, isRequired: false)
  }

  /// The index of the field with this name.
  static func index(of name: [UInt8], in object: Int) -> Int? {
    fields[object].firstIndex { $0.bytes == name }
  }
}
