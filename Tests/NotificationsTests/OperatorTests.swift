import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// The views of operators: users, and the deliveries of one of them.
@Suite struct OperatorTests {
  @Test func usersAreRefused() async throws {
    let component = try await Fixture().open()
    let delivery = component.delivery
    #expect(
      await refusal { try await delivery.listNotificationUsers(.init(), context: anna) }
        == "PERMISSION_DENIED SCOPE_MISSING")
    // Even for a user's own notification: ExplainDelivery is for users.
    #expect(
      await refusal {
        try await delivery.explainUserDelivery(.init(userId: "anna", notificationId: "n"), context: anna)
      } == "PERMISSION_DENIED SCOPE_MISSING")
    #expect(
      await refusal { try await delivery.listNotificationUsers(.init(), context: nobody) }
        == "UNAUTHENTICATED PRINCIPAL_MISSING")
    await component.close()
  }

  @Test func invalidRequestsAreRefused() async throws {
    let component = try await Fixture().open()
    let delivery = component.delivery
    #expect(
      await refusal { try await delivery.explainUserDelivery(.init(userId: "anna"), context: admin) }
        == "INVALID_ARGUMENT REQUIRED")
    #expect(
      await refusal { try await delivery.listNotificationUsers(.init(pageSize: -1), context: admin) }
        == "INVALID_ARGUMENT OUT_OF_RANGE")
    #expect(
      await refusal { try await delivery.listNotificationUsers(.init(pageToken: "x"), context: admin) }
        == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
    await component.close()
  }

  @Test func deliveriesOfAUserAreThoseThatTheUserSees() async throws {
    let component = try await Fixture().open()
    let home = try #require(try await component.service.createBucket(bucket("Casa"), context: anna).bucket)
    let made = try await publish(in: home.id, component) { _ in }
    let own = try await component.service.explainDelivery(.init(notificationId: made.id), context: anna)
    var request = ExplainUserDeliveryRequest(userId: "anna", notificationId: made.id)
    let shown = try await component.delivery.explainUserDelivery(request, context: admin)
    #expect(shown.records == own.records && !shown.records.isEmpty)
    request.userId = "bruno"
    #expect(
      await refusal { try await component.delivery.explainUserDelivery(request, context: admin) }
        == "NOT_FOUND NOTIFICATION_NOT_FOUND")
    await component.close()
  }

  @Test func usersAreListedWithTheirCounts() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let startMs = fixture.clock.nowMs
    for name in ["anna", "bruno", "carla"] {
      let home = try #require(try await component.service.createBucket(bucket("Casa"), context: user(name)).bucket)
      guard name == "bruno" else { continue }
      fixture.clock.advance(by: .seconds(5))
      for index in 0..<3 {
        _ = try await component.service.createNotification(notification("\(index)", in: home.id), context: bruno)
      }
    }
    var request = ListNotificationUsersRequest(pageSize: 2)
    let first = try await component.delivery.listNotificationUsers(request, context: admin)
    #expect(first.users.map(\.userId) == ["anna", "bruno"])
    #expect(first.users[1].notificationCount == 3 && first.users[1].unreadCount == 3 && first.users[1].bucketCount == 1)
    #expect(first.users[0].changeTime?.millisecondsSince1970 == startMs)
    #expect(first.users[1].changeTime?.millisecondsSince1970 == startMs + 5_000)
    request.pageToken = first.nextPageToken
    let second = try await component.delivery.listNotificationUsers(request, context: admin)
    #expect(second.users.map(\.userId) == ["carla"] && second.nextPageToken.isEmpty)
    let some = try await component.delivery.listNotificationUsers(.init(userIdPrefix: "br"), context: admin)
    #expect(some.users.map(\.userId) == ["bruno"])
    await component.close()
  }
}
