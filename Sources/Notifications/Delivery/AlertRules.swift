import CampanileAPI
import CampanileCodec

/// What is pushed to a user's devices for one notification.
///
/// The texts are cut so that the push stays below APNs' 4,096 bytes whatever they hold.
enum AlertRules {
  static let titleBytesMax = 600
  static let bodyBytesMax = 1_000
  static let bucketNameBytesMax = 200
  static let mediaURLBytesMax = 800
  /// Of `apns-collapse-id`.
  static let collapseBytesMax = 64

  /// Nil when there is nothing to push: the notification was read, deleted, set aside or expired in the meantime.
  ///
  /// A repeat of the same hand-over has the same alert id, so that it is pushed once. SILENT is a background push, which the
  /// user does not see; CRITICAL breaks through silence (it needs Apple's entitlement, without which it is an alert).
  static func request(
    _ notification: Notification?, user: String, bucketName: String?, unreadCount: Int64, nowMs: Int64
  ) -> SendAlertRequest? {
    guard let notification, notification.readTime == nil, notification.deliveryState == .sent,
      notification.expireTime.map({ $0.millisecondsSince1970 > nowMs }) ?? true
    else { return nil }
    var request = SendAlertRequest()
    request.userId = user
    request.alertId = "\(notification.id):\(notification.sendCount)"
    request.notificationId = notification.id
    request.badge = Int32(clamping: unreadCount)
    request.threadId = notification.bucketId
    request.expireTime = notification.expireTime
    request.data = data(notification, bucketName: bucketName)
    if notification.collapseKey.utf8.count <= collapseBytesMax { request.collapseId = notification.collapseKey }
    guard notification.priority != .silent else { return request }
    var alert = Alert()
    alert.title = fitting(notification.title, titleBytesMax)
    alert.body = fitting(notification.body ?? "", bodyBytesMax)
    alert.sound = "default"
    request.alert = alert
    request.subtitle = notification.subtitle.map { fitting($0, titleBytesMax) }
    request.interruptionLevel = notification.priority == .critical ? "critical" : "active"
    request.mutableContent = !notification.attachments.isEmpty
    return request
  }

  /// `bucketId`, `bucketName`, and `mediaUrl` of the first attachment that has a URL, where it is short enough.
  private static func data(_ notification: Notification, bucketName: String?) -> ProtoStruct {
    var members = ["\"bucketId\":\(ProtoValue(string: notification.bucketId).json)"]
    if let bucketName {
      members.append("\"bucketName\":\(ProtoValue(string: fitting(bucketName, bucketNameBytesMax)).json)")
    }
    let media = notification.attachments.first { !$0.url.isEmpty && $0.url.utf8.count <= mediaURLBytesMax }
    if let media { members.append("\"mediaUrl\":\(ProtoValue(string: media.url).json)") }
    return ProtoStruct(verified: "{\(members.joined(separator: ","))}")
  }

  private static func fitting(_ text: String, _ bytesMax: Int) -> String {
    SummaryShaper.cost(text) <= bytesMax ? text : SummaryShaper.cut(text, toCost: bytesMax) ?? ""
  }
}
