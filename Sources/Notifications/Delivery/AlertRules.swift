import CampanileAPI
import CampanileCodec

/// Builds the push of a notification.
///
/// The texts are truncated so that the push stays below APNs' limit of 4,096 bytes.
enum AlertRules {
  static let titleBytesMax = 600
  static let bodyBytesMax = 1_000
  static let bucketNameBytesMax = 200
  static let mediaURLBytesMax = 800
  /// The maximum size of `apns-collapse-id`.
  static let collapseBytesMax = 64

  /// Returns nil if there is nothing to push: the notification has been read, deleted, snoozed, postponed or has
  /// expired.
  ///
  /// A repetition of a hand-over has the same alert id, so that it is pushed only once. SILENT wakes the app and
  /// changes the number on its icon, without a text or a sound. CRITICAL overrides silent mode; without Apple's
  /// entitlement, it is an ordinary alert.
  static func request(
    _ notification: Notification?, user: String, bucketName: String?, unreadCount: Int64, nowMs: Int64
  ) -> SendAlertRequest? {
    guard let notification, notification.readTime == nil, notification.deliveryState == .sent,
      notification.expireTime.map({ $0.millisecondsSince1970 > nowMs }) ?? true
    else { return nil }
    var request = SendAlertRequest(
      userId: user, alertId: "\(notification.id):\(notification.sendCount)", notificationId: notification.id,
      badge: Int32(clamping: unreadCount), threadId: notification.bucketId,
      dataJson: dataJSON(notification, bucketName: bucketName), expireTime: notification.expireTime)
    if notification.collapseKey.utf8.count <= collapseBytesMax { request.collapseId = notification.collapseKey }
    guard notification.priority != .silent else {
      request.contentAvailable = true
      return request
    }
    let isCritical = notification.priority == .critical
    request.alert = Alert(
      title: fitting(notification.title, titleBytesMax), body: fitting(notification.body ?? "", bodyBytesMax),
      sound: Sound(name: "default", critical: isCritical))
    request.subtitle = notification.subtitle.map { fitting($0, titleBytesMax) }
    request.interruptionLevel = isCritical ? .critical : .active
    request.mutableContent = !notification.attachments.isEmpty
    return request
  }

  /// Returns `bucketId`, `bucketName` and `mediaUrl`. The latter is the URL of the first attachment with a URL that is
  /// short enough.
  private static func dataJSON(_ notification: Notification, bucketName: String?) -> String {
    var members = ["\"bucketId\":\(ProtoValue(string: notification.bucketId).json)"]
    if let bucketName {
      members.append("\"bucketName\":\(ProtoValue(string: fitting(bucketName, bucketNameBytesMax)).json)")
    }
    let media = notification.attachments.first { !$0.url.isEmpty && $0.url.utf8.count <= mediaURLBytesMax }
    if let media { members.append("\"mediaUrl\":\(ProtoValue(string: media.url).json)") }
    return "{\(members.joined(separator: ","))}"
  }

  private static func fitting(_ text: String, _ bytesMax: Int) -> String {
    SummaryShaper.cost(text) <= bytesMax ? text : SummaryShaper.cut(text, toCost: bytesMax) ?? ""
  }
}
