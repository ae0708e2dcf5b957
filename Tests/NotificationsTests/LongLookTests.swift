import CampanileAPI
import CampanileCodec
import Testing

@testable import Notifications

@Suite struct LongLookTests {
  private func action(_ type: ActionType, _ value: String = "", title: String = "", icon: String = "") -> Action {
    Action(type: type, value: value, title: title, icon: icon)
  }

  private func attachment(_ type: CampanileAPI.Attachment.MediaType, url: String = "", contentID: String = "")
    -> CampanileAPI.Attachment
  {
    var attachment = CampanileAPI.Attachment()
    attachment.mediaType = type
    attachment.url = url
    attachment.contentId = contentID
    return attachment
  }

  private func look(hasOwnLabels: Bool = false, _ change: (inout Notification) -> Void) -> LongLook {
    var notification = Notification(
      id: "n_1", bucketId: "b_1", title: "Title", subtitle: "Subtitle", body: "Body",
      createTime: ProtoTimestamp(millisecondsSince1970: 5))
    change(&notification)
    let bucket = Bucket(id: "b_1", name: "Bucket", iconUrl: "https://example.org/i.png")
    return LongLookRules.longLook(notification, bucket: bucket, hasOwnLabels: hasOwnLabels)
  }

  @Test func showsTextsAndBucket() {
    let look = look { _ in }
    #expect(look.notificationId == "n_1" && look.title == "Title" && look.subtitle == "Subtitle" && look.body == "Body")
    #expect(look.bucketId == "b_1" && look.bucketName == "Bucket" && look.bucketIconUrl == "https://example.org/i.png")
    #expect(!look.isRead && look.createTime?.millisecondsSince1970 == 5)
    #expect(look.imageUrl == nil && look.imageContentId == nil && look.actions == [])
  }

  /// The watch app's buttons, with iOS' green, red and blue.
  @Test(arguments: [false, true])
  func baseActionsAreTheThreeOfTheApp(isRead: Bool) {
    let look = look { notification in
      if isRead { notification.readTime = ProtoTimestamp(millisecondsSince1970: 9) }
      notification.actions = [action(.markAsRead, title: "Gelesen", icon: "x"), action(.delete, title: "Weg")]
    }
    #expect(look.isRead == isRead)
    #expect(look.baseActions.map(\.actionId) == ["mark_as_read", "delete", "open"])
    #expect(look.baseActions.map(\.label) == ["Mark", "Delete", "Open"])
    #expect(
      look.baseActions.map(\.icon) == ["checkmark.circle.fill", "trash.circle.fill", "arrow.right.circle.fill"])
    #expect(look.baseActions.map(\.color) == ["#34C759", "#FF3B30", "#007AFF"])
    #expect(look.baseActions.map(\.destructive) == [false, true, false])
    #expect(look.baseActions.map(\.type) == [.markAsRead, .delete, .openNotification])
    #expect(look.baseActions.map(\.value) == ["mark_as_read_notification", "delete_notification", "n_1"])
    #expect(look.actions.isEmpty)
  }

  @Test func tapURLIsThatOfATapAction() {
    #expect(look { $0.tapAction = action(.navigate, "app://x") }.tapUrl == "app://x")
    #expect(look { $0.tapAction = action(.webhook, "w_1") }.tapUrl == nil)
    #expect(look { _ in }.tapUrl == nil)
  }

  @Test func ownActionsProvideTitlesAndOthersFollow() {
    let look = look(hasOwnLabels: true) { notification in
      notification.actions = [
        action(.webhook, "w_1", title: "Run", icon: "bolt"), action(.openNotification, title: "Öffnen", icon: "eye"),
        action(.snooze, "15"), action(.delete, "delete_notification", title: "Weg"), action(.markAsRead),
        action(.openNotification, "n_2"), action(.markAsRead, title: "Second"),
        action(.navigate, "https://example.org"),
      ]
    }
    #expect(look.baseActions.map(\.label) == ["Mark", "Weg", "Öffnen"])
    #expect(look.baseActions.last?.icon == "eye" && look.baseActions[1].destructive)
    #expect(look.actions.map(\.actionId) == ["0", "2", "5", "7"])
    #expect(look.actions.map(\.label) == ["Run", "Snooze 15 min", "Open other", "Open link"])
    #expect(look.actions[0].icon == "bolt" && look.actions.allSatisfy { $0.color == nil })
    #expect(look.actions.map(\.type) == [.webhook, .snooze, .openNotification, .navigate])
    #expect(look.actions.map(\.value) == ["w_1", "15", "n_2", "https://example.org"])
  }

  @Test func imageIsFirstImageOrElseFirstGIF() {
    let image = look { notification in
      notification.attachments = [
        attachment(.video, url: "https://v"), attachment(.gif, url: "https://g"), attachment(.image, url: "https://i"),
        attachment(.image, url: "https://j"),
      ]
    }
    #expect(image.imageUrl == "https://i" && image.imageContentId == nil)
    let gif = look { $0.attachments = [attachment(.icon, url: "https://c"), attachment(.gif, contentID: "abc")] }
    #expect(gif.imageUrl == nil && gif.imageContentId == "abc")
    let none = look { $0.attachments = [attachment(.file, url: "https://f"), attachment(.image)] }
    #expect(none.imageUrl == nil && none.imageContentId == nil)
  }
}
