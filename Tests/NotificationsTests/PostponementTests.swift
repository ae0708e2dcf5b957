import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct PostponementTests {
  @Test func postponedNotificationsAreListedAndCancelled() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    var ids: [String] = []
    for index in 0..<5 { ids.append(try await service.make("n\(index)", in: box.id, anna).id) }
    let release = fixture.clock.time(afterMs: 60_000)
    for id in ids.prefix(4) {
      _ = try await service.postponeNotification(.init(notificationId: id, releaseTime: release), context: anna)
    }
    // A snoozed notification is not postponed.
    _ = try await service.snoozeNotification(.init(notificationId: ids[4], releaseTime: release), context: anna)
    var (found, request) = ([String](), ListPostponedNotificationsRequest(pageSize: 3))
    repeat {
      let page = try await service.listPostponedNotifications(request, context: anna)
      found += page.notifications.map(\.id)
      #expect(page.notifications.allSatisfy { $0.releaseTime == release })
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(found == Array(ids.prefix(4)))
    #expect(try await service.listPostponedNotifications(.init(), context: bruno).notifications.isEmpty)

    let stale = await failure {
      try await service.cancelPostponement(.init(notificationId: ids[0], etag: "v1"), context: anna)
    }
    #expect(stale?.code == .aborted && faults(stale) == ["etag ETAG_MISMATCH"])
    let cancelled = try #require(
      try await service.cancelPostponement(.init(notificationId: ids[0]), context: anna).notification)
    #expect(cancelled.deliveryState == .sent && cancelled.readTime != nil && cancelled.releaseTime == nil)
    for id in [ids[0], ids[4]] {
      let error = await failure { try await service.cancelPostponement(.init(notificationId: id), context: anna) }
      #expect(error?.reason == "NOTIFICATION_NOT_FOUND")
    }
    fixture.clock.advance(by: .milliseconds(60_001))
    _ = try await component.timers.runDue()
    let unread = try await service.all(anna) { $0.unreadOnly = true }
    #expect(Set(unread.map(\.id)) == Set(ids.dropFirst()))
    #expect(try await service.listPostponedNotifications(.init(), context: anna).notifications.isEmpty)
    let log = try await service.explainDelivery(.init(notificationId: ids[0]), context: anna).records.map(\.outcome)
    #expect(log.contains(.cancelled))
    await component.close()
  }
}
