import CampanileActivities
import CampanileNotifications
import Foundation

extension Example {
  /// Publishes two notifications, reads one of them, and shows the other at length.
  func inbox() async throws {
    let service = campanile.notifications.service
    let bucket = try await service.createBucket(.init(bucket: .init(name: "Example \(UUID().uuidString.prefix(8))")))
      .bucket
    let unread = UnreadModel(campanile, outbox: outbox)
    let running = Task { await unread.run() }
    defer { running.cancel() }
    try await wait("the list") { !unread.isStale }
    for title in ["Build 1 passed", "Build 2 failed"] {
      _ = try await service.createNotification(
        .init(notification: .init(bucketId: bucket?.id ?? "", title: title, subtitle: "main")))
    }
    func mine() -> [CampanileNotifications.Notification] { unread.notifications.filter { $0.bucketId == bucket?.id } }
    try await wait("the notifications") { mine().count == 2 }
    for notification in mine() { print("unread: \(notification.title)") }
    unread.markRead(mine()[1].id)
    try await send()
    print("left: \(mine().map(\.title).joined(separator: ", "))")
    let look = LongLookModel(campanile, outbox: outbox)
    await look.load(mine()[0].id)
    print("long look: \(look.title), \(look.subtitle ?? ""): \(look.baseActions.map(\.label).joined(separator: ", "))")
    look.perform("delete")
    try await send()
    try await wait("the deletion") { mine().isEmpty }
    print("left: none")
    _ = try await service.deleteBucket(.init(bucketId: bucket?.id ?? ""))
  }
}
