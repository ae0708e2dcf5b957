import Foundation

/// A bucket in the file `buckets.json`.
public struct SyncBucket: Codable, Hashable, Sendable, Identifiable {
  public var id: String
  public var name: String
  public var description: String?
  /// `#RRGGBB`.
  public var color: String?
  public var iconUrl: String?
  /// ISO 8601.
  public var createdAt: String
  /// ISO 8601. Of two versions of a bucket, a merge keeps the later one.
  public var updatedAt: String
  public var isOrphan: Bool?

  public init(
    id: String, name: String, description: String? = nil, color: String? = nil, iconUrl: String? = nil,
    createdAt: String, updatedAt: String, isOrphan: Bool? = nil
  ) {
    self.id = id
    self.name = name
    self.description = description
    self.color = color
    self.iconUrl = iconUrl
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.isOrphan = isOrphan
  }
}

/// A notification in the file `notifications.json`. Absent optional members are not written as null.
public struct SyncNotification: Codable, Hashable, Sendable, Identifiable {
  public var id: String
  public var title: String
  public var subtitle: String?
  public var body: String?
  /// ISO 8601; `nil` while it is unread.
  public var readAt: String?
  public var sentAt: String?
  public var createdAt: String
  /// ISO 8601. Of two versions of a notification, a merge keeps the later one.
  public var updatedAt: String
  public var bucketId: String
  public var attachments: [SyncAttachment]
  public var actions: [SyncAction]
  public var tapAction: SyncAction?

  public init(
    id: String, title: String, subtitle: String? = nil, body: String? = nil, readAt: String? = nil,
    sentAt: String? = nil, createdAt: String, updatedAt: String, bucketId: String, attachments: [SyncAttachment] = [],
    actions: [SyncAction] = [], tapAction: SyncAction? = nil
  ) {
    self.id = id
    self.title = title
    self.subtitle = subtitle
    self.body = body
    self.readAt = readAt
    self.sentAt = sentAt
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.bucketId = bucketId
    self.attachments = attachments
    self.actions = actions
    self.tapAction = tapAction
  }

  public var isRead: Bool { readAt != nil }
}

/// A medium of a notification.
public struct SyncAttachment: Codable, Hashable, Sendable {
  /// `VIDEO`, `IMAGE`, `GIF`, `AUDIO`, `ICON` or `FILE`.
  public var mediaType: String
  public var url: String?
  public var name: String?

  public init(mediaType: String, url: String? = nil, name: String? = nil) {
    self.mediaType = mediaType
    self.url = url
    self.name = name
  }
}

/// An action of a notification.
public struct SyncAction: Codable, Hashable, Sendable {
  /// `NAVIGATE`, `BACKGROUND_CALL`, `MARK_AS_READ`, `SNOOZE`, `POSTPONE`, `OPEN_NOTIFICATION`, `WEBHOOK` or `DELETE`.
  public var type: String
  public var destructive: Bool
  public var value: String?
  public var title: String?
  public var icon: String?

  public init(
    type: String, destructive: Bool = false, value: String? = nil, title: String? = nil, icon: String? = nil
  ) {
    self.type = type
    self.destructive = destructive
    self.value = value
    self.title = title
    self.icon = icon
  }
}
