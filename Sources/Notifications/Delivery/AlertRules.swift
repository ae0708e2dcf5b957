import CampanileAPI
import CampanileCodec

/// Builds the push of a notification.
///
/// The texts are truncated so that the push stays below APNs' limit of 4,096 bytes.
enum AlertRules {
  static let titleBytesMax = 600
  static let bodyBytesMax = 1_000
  /// The maximum size of `apns-collapse-id`.
  static let collapseBytesMax = 64
  /// The category of the Zentik app's content extensions, as in their Info.plist.
  static let categoryDefault = "DYNAMIC"
  private static let sizeBytesMax = 4_096
  /// The names and fixed values of `aps`, its numbers, and a device's receipt.
  private static let envelopeBytes = 720
  /// The smallest payload next to `aps`: the ids alone.
  private static let idsBytes = 280

  /// Returns nil if there is nothing to push: the notification has been read, deleted, snoozed, postponed or has
  /// expired.
  ///
  /// A repetition of a hand-over has the same alert id, so that it is pushed only once. SILENT wakes the app and
  /// changes the number on its icon, without a text or a sound. CRITICAL overrides silent mode; Activities sends it as
  /// time-sensitive to apps without Apple's entitlement.
  ///
  /// - Parameter category: Selects the app's content extension and its buttons.
  static func request(
    _ notification: Notification?, user: String, bucket: Bucket?, unreadCount: Int64, category: String, nowMs: Int64
  ) -> SendAlertRequest? {
    guard let notification, notification.readTime == nil, notification.deliveryState == .sent,
      notification.expireTime.map({ $0.millisecondsSince1970 > nowMs }) ?? true
    else { return nil }
    var request = SendAlertRequest(
      userId: user, alertId: "\(notification.id):\(notification.sendCount)", notificationId: notification.id,
      badge: Int32(clamping: unreadCount), category: category,
      threadId: notification.threadId.isEmpty ? notification.bucketId : notification.threadId, mutableContent: true,
      expireTime: notification.expireTime, filterCriteria: notification.bucketId)
    if notification.collapseKey.utf8.count <= collapseBytesMax { request.collapseId = notification.collapseKey }
    var left = sizeBytesMax - envelopeBytes - idsBytes - [request.threadId, category].reduce(0) { $0 + cost($1) }
    var isCut = false
    if notification.priority == .silent {
      request.contentAvailable = true
    } else {
      setAlert(of: notification, in: &request, left: &left, isCut: &isCut)
    }
    let payload = AlertPayload(notification, of: bucket, fitting: left + idsBytes, isCut: isCut)
    (request.dataJson, request.payloadJson) = (payload.data, payload.members)
    return request
  }

  /// - Parameters:
  ///   - left: The space, which is reduced by what the alert takes.
  ///   - isCut: Set if a text is shortened.
  private static func setAlert(
    of notification: Notification, in request: inout SendAlertRequest, left: inout Int, isCut: inout Bool
  ) {
    let isCritical = notification.priority == .critical
    var sound = Sound(name: notification.sound.isEmpty ? "default" : notification.sound, critical: isCritical)
    if isCritical { sound.volume = 1 }
    left -= cost(sound.name)
    let title = fitting(notification.title, titleBytesMax)
    let subtitle = notification.subtitle.map { fitting($0, titleBytesMax) }
    left -= cost(title) + cost(subtitle ?? "")
    let body = fitting(notification.body ?? "", min(bodyBytesMax, max(0, left)))
    left -= cost(body)
    isCut = title != notification.title || subtitle != notification.subtitle || body != notification.body ?? ""
    request.alert = Alert(title: title, body: body, sound: sound)
    request.subtitle = subtitle
    request.interruptionLevel = isCritical ? .critical : .active
    if isCritical { request.relevanceScore = 1 }
  }

  /// Returns the text, shortened to a JSON of at most `bytesMax` bytes.
  static func fitting(_ text: String, _ bytesMax: Int) -> String {
    cost(text) <= bytesMax ? text : SummaryShaper.cut(text, toCost: bytesMax) ?? ""
  }

  private static func cost(_ text: String) -> Int { SummaryShaper.cost(text) }
}
