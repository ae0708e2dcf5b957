import CampanileNotifications
import Testing

@testable import CampanileActivities

struct UnreadListTests {
  private func notification(
    _ id: String, bucket: String = "b_1", isRead: Bool = false
  ) -> CampanileNotifications.Notification {
    .init(id: id, bucketId: bucket, title: id, readTime: isRead ? .init(seconds: 1) : nil)
  }

  private func list(_ ids: String...) -> UnreadList {
    var list = UnreadList()
    list.replace(by: ids.map { notification($0) })
    return list
  }

  @Test func changesKeepTheListSortedAndUnread() {
    var list = list("n_1", "n_3")
    #expect(list.notifications.map(\.id) == ["n_3", "n_1"])
    list.apply(.init(change: .notificationCreated(notification("n_2"))))
    list.apply(.init(change: .notificationCreated(notification("n_4"))))
    #expect(list.notifications.map(\.id) == ["n_4", "n_3", "n_2", "n_1"])
    list.apply(.init(change: .notificationUpdated(notification("n_3", isRead: true))))
    list.apply(.init(change: .notificationDeleted(.init(notificationId: "n_4"))))
    #expect(list.notifications.map(\.id) == ["n_2", "n_1"])
    list.apply(.init(change: .notificationUpdated(notification("n_3"))))
    #expect(list.notifications.map(\.id) == ["n_3", "n_2", "n_1"])
    list.apply(.init(change: .notificationsMarkedRead(.init(bucketId: "b_2", throughNotificationId: "n_9"))))
    list.apply(.init(change: .notificationsMarkedRead(.init(throughNotificationId: "n_2"))))
    #expect(list.notifications.map(\.id) == ["n_3"])
    list.apply(.init(change: .bucketDeleted(.init(bucketId: "b_1"))))
    #expect(list.notifications.isEmpty)
  }

  @Test func waitingNotificationStaysHidden() {
    var list = list("n_1", "n_2")
    let hasLeft = [list.waits(for: ["n_2"]), list.waits(for: ["n_2"])]
    #expect(hasLeft == [false, false])
    #expect(list.notifications.map(\.id) == ["n_1"])
    // The server does not know the change yet.
    list.apply(.init(change: .notificationUpdated(notification("n_2"))))
    list.replace(by: [notification("n_1"), notification("n_2")])
    #expect(list.notifications.map(\.id) == ["n_1"])
    let hasLeftNow = list.waits(for: [])
    #expect(hasLeftNow)
    list.replace(by: [notification("n_1"), notification("n_2")])
    #expect(list.notifications.count == 2)
  }
}
