public import Foundation

/// The state of an activity that shows the newest unread notifications, as Activities pushes it.
public struct UnreadContentState: Codable, Hashable, Sendable {
  /// One notification.
  public struct Item: Codable, Hashable, Sendable, Identifiable {
    public let id: String
    public let title: String
    public let subtitle: String?
    public let bucketId: String
    public let bucketName: String?
    public let bucketIconUrl: String?
    public let createdAt: Date

    public init(
      id: String, title: String, subtitle: String? = nil, bucketId: String, bucketName: String? = nil,
      bucketIconUrl: String? = nil, createdAt: Date
    ) {
      self.id = id
      self.title = title
      self.subtitle = subtitle
      self.bucketId = bucketId
      self.bucketName = bucketName
      self.bucketIconUrl = bucketIconUrl
      self.createdAt = createdAt
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(String.self, forKey: .id)
      title = try container.decode(String.self, forKey: .title)
      subtitle = try container.decodeIfPresent(String.self, forKey: .subtitle)
      bucketId = try container.decode(String.self, forKey: .bucketId)
      bucketName = try container.decodeIfPresent(String.self, forKey: .bucketName)
      bucketIconUrl = try container.decodeIfPresent(String.self, forKey: .bucketIconUrl)
      createdAt = try container.pushedDate(forKey: .createdAt)
    }
  }

  /// Newest first; at most five. There may be more unread ones.
  public var notifications: [Item]
  public var unreadCount: Int
  public var lastUpdate: Date

  public init(notifications: [Item], unreadCount: Int, lastUpdate: Date) {
    self.notifications = notifications
    self.unreadCount = unreadCount
    self.lastUpdate = lastUpdate
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    notifications = try container.decodeIfPresent([Item].self, forKey: .notifications) ?? []
    unreadCount = try container.decodeIfPresent(Int.self, forKey: .unreadCount) ?? notifications.count
    lastUpdate = try container.pushedDate(forKey: .lastUpdate)
  }

  /// The number of unread notifications that the activity does not show.
  public var hiddenCount: Int { max(0, unreadCount - notifications.count) }
}
