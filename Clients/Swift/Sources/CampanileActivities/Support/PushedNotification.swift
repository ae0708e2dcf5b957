public import Foundation

/// A notification as a push carries it, to show it without a network: the `userInfo` of its request.
public struct PushedNotification: Sendable, Hashable {
  /// Empty if the push is of another kind.
  public var id: String
  public var title: String
  public var subtitle: String?
  public var body: String
  public var bucketID: String
  public var bucketName: String?
  /// The address of the first picture or other medium.
  public var mediaURL: URL?
  public var badge: Int?

  /// Reads the payload of a push. Missing texts are empty.
  public init(userInfo: [AnyHashable: Any]) {
    let aps = userInfo["aps"] as? [AnyHashable: Any] ?? [:]
    let alert = aps["alert"] as? [AnyHashable: Any] ?? [:]
    let data = userInfo["data"] as? [AnyHashable: Any] ?? [:]
    id = userInfo["notificationId"] as? String ?? ""
    title = alert["title"] as? String ?? aps["alert"] as? String ?? ""
    subtitle = alert["subtitle"] as? String
    body = alert["body"] as? String ?? ""
    bucketID = data["bucketId"] as? String ?? ""
    bucketName = data["bucketName"] as? String
    mediaURL = (data["mediaUrl"] as? String).flatMap { URL(string: $0) }
    badge = aps["badge"] as? Int
  }
}
