import CampanileAPI
import CampanileCodec
import Testing

@testable import Notifications

/// The push that the Zentik app's extensions decode.
@Suite struct AlertPayloadTests {
  private static let bucket = Bucket(id: "b_1", name: "Casa", iconUrl: "https://example.org/b.png")

  private func request(
    bucket: Bucket? = AlertPayloadTests.bucket, _ change: (inout Notification) -> Void
  ) throws -> SendAlertRequest {
    var notification = Notification(id: "n_1", bucketId: "b_1", title: "T", deliveryState: .sent, sendCount: 1)
    change(&notification)
    return try #require(
      AlertRules.request(
        notification, user: "anna", bucket: bucket, unreadCount: 5, category: "DYNAMIC", nowMs: 0))
  }

  /// The bytes that Activities pushes, without a receipt.
  private func pushed(_ request: SendAlertRequest) -> String {
    var aps: [String: JSONTree] = [
      "badge": .integer(Int64(request.badge ?? 0)), "mutable-content": .integer(1),
      "category": .string(request.category), "thread-id": .string(request.threadId),
      "filter-criteria": .string(request.filterCriteria),
    ]
    if request.contentAvailable { aps["content-available"] = .integer(1) }
    if let alert = request.alert {
      aps["alert"] = .object([
        "title": .string(alert.title), "subtitle": .string(request.subtitle ?? ""), "body": .string(alert.body),
      ])
      aps["sound"] = .object([
        "critical": .integer(1), "name": .string(alert.sound?.name ?? ""), "volume": .integer(1),
      ])
      aps["interruption-level"] = .string("time-sensitive")
      aps["relevance-score"] = .double(0.25)
    }
    var writer = JSONWriter(capacity: 4_096)
    JSONTree.object(aps).write(to: &writer)
    let apsJSON = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    return "{\"aps\":\(apsJSON),\"notificationId\":\"\(request.notificationId)\",\"data\":\(request.dataJson),"
      + request.payloadJson.dropFirst()
  }

  @Test func extensionsFindTheirMembers() throws {
    let push = try request { notification in
      notification.subtitle = "S"
      notification.body = "B\n"
      notification.sound = "bell.caf"
      notification.threadId = "group"
      notification.tapAction = Action(type: .navigate, value: "https://example.org/t")
      notification.attachments = [
        Attachment(mediaType: .icon, url: "https://example.org/i"),
        Attachment(mediaType: .image, url: "https://example.org/p.png"), Attachment(mediaType: .file, contentId: "c"),
      ]
      notification.actions = [
        Action(type: .snooze, value: "15", title: "Later", icon: "clock"),
        Action(type: .delete, destructive: true, title: "Weg"), Action(type: .markAsRead),
      ]
    }
    #expect(
      push.payloadJson == #"{"act":[{"icon":"clock","title":"Later","type":"SNOOZE","value":"15"},"#
        + #"{"destructive":true,"title":"Weg","type":"DELETE","value":"delete_notification"},"#
        + #"{"type":"MARK_AS_READ","value":"mark_as_read_notification"}],"att":["IMAGE:https://example.org/p.png"],"#
        + #""bdy":"B\n","bi":"https://example.org/b.png","bid":"b_1","dty":"NORMAL","mid":"n_1","nid":"n_1","stl":"S","#
        + #""tap":{"type":"NAVIGATE","value":"https://example.org/t"},"tit":"T"}"#)
    #expect(
      push.dataJson == #"{"bucketId":"b_1","bucketName":"Casa","mediaUrl":"https://example.org/i","#
        + #""tapUrl":"https://example.org/t"}"#)
    #expect(push.alert?.sound == Sound(name: "bell.caf") && push.threadId == "group" && push.mutableContent)
  }

  @Test func tapOpensTheNotificationByDefault() throws {
    let push = try request { $0.priority = .silent }
    #expect(push.alert == nil && push.contentAvailable && push.mutableContent)
    #expect(push.payloadJson.contains(#""dty":"SILENT""#))
    #expect(push.payloadJson.contains(#""tap":{"type":"OPEN_NOTIFICATION","value":"n_1"}"#))
    #expect(!push.payloadJson.contains("selfDownload") && !push.dataJson.contains("tapUrl"))
  }

  @Test("what does not fit is fetched by the extension")
  func largeNotificationsAreDownloaded() throws {
    // Shortened texts: everything else is there.
    let cut = try request { $0.body = String(repeating: "x", count: 1_001) }
    #expect(cut.payloadJson.contains(#""selfDownload":true"#) && cut.payloadJson.contains(#""tap""#))
    // The texts of `aps` suffice.
    let long = try request { notification in
      notification.body = String(repeating: "x", count: 1_000)
      notification.actions = [Action(type: .navigate, value: "https://" + String(repeating: "x", count: 1_200))]
    }
    #expect(!long.payloadJson.contains("selfDownload") && !long.payloadJson.contains("bdy"))
    #expect(long.payloadJson.contains(#""act""#) && long.alert?.body.count == 1_000)
    let huge = try request { notification in
      notification.actions = Array(
        repeating: Action(type: .navigate, value: "https://" + String(repeating: "x", count: 2_000)), count: 2)
    }
    #expect(huge.payloadJson == #"{"bid":"b_1","dty":"NORMAL","mid":"n_1","nid":"n_1","selfDownload":true}"#)
    #expect(huge.dataJson.contains("Casa"))
  }

  @Test(arguments: ["é", "\u{1}", "\"", "日", "👩‍👩‍👧‍👦", "a"])
  func pushesStayBelowSizeLimit(text: String) throws {
    let url = "https://example.org/" + String(repeating: "x", count: 780)
    let large = String(repeating: text, count: 256)
    let short = String(String.UnicodeScalarView(large.unicodeScalars.prefix(128)))
    for priority in [Notification.Priority.normal, .silent, .critical] {
      let push = try request(bucket: Bucket(id: "b_1", name: short, iconUrl: url)) { notification in
        notification.id = "n_" + String(repeating: "x", count: 22)
        notification.bucketId = "b_" + String(repeating: "x", count: 22)
        (notification.title, notification.subtitle) = (large, large)
        notification.body = String(repeating: text, count: 4_000)
        notification.priority = priority
        notification.sound = short
        notification.threadId = short
        notification.collapseKey = "k"
        notification.attachments = Array(repeating: Attachment(mediaType: .image, url: url), count: 16)
        notification.actions = Array(
          repeating: Action(type: .navigate, value: url, title: short), count: 16)
        notification.tapAction = Action(type: .navigate, value: url)
      }
      // A receipt takes about 160 bytes more.
      let sizeBytes = pushed(push).utf8.count
      #expect(sizeBytes <= 4_096 - 160, "\(text) \(priority): \(sizeBytes)")
      if priority != .silent { #expect(push.alert?.body.hasSuffix("…") == true) }
    }
  }
}
