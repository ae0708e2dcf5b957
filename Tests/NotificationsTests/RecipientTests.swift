import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// Notifications for some of a bucket's members.
@Suite struct RecipientTests {
  private func titles(_ component: NotificationsComponent, _ context: CallContext) async throws -> [String] {
    try await component.service.all(context).map(\.title)
  }

  private func shared(_ component: NotificationsComponent) async throws -> Bucket {
    let box = try await component.service.makeBucket("b", anna)
    try await component.sharing.share(box.id, with: "bruno", as: .publisher, by: "anna")
    try await component.sharing.share(box.id, with: "carla", as: .reader, by: "anna")
    return box
  }

  @Test func onlyTheNamedMembersGetTheNotification() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await shared(component)
    let carla = user("carla")
    let own = try await publish(in: box.id, component) {
      $0.title = "for two"
      $0.recipientIds = ["carla", "anna", "nobody"]
    }
    #expect(own.recipientIds.isEmpty && own.deliveryState == .sent)
    #expect(try await titles(component, anna) == ["for two"])
    #expect(try await titles(component, carla) == ["for two"])
    #expect(try await titles(component, bruno).isEmpty)
    // A publisher who is not a recipient gets no copy, and learns nothing about the recipient's settings.
    try await component.service.snooze(box.id, until: fixture.clock.time(afterMs: 3_600_000), carla)
    var request = notification("for carla", in: box.id, requestID: "once")
    request.notification?.recipientIds = ["carla"]
    let sent = try #require(try await component.service.createNotification(request, context: bruno).notification)
    #expect(sent.title == "for carla" && sent.deliveryState == .unspecified && sent.recipientIds.isEmpty)
    #expect(try await component.service.createNotification(request, context: bruno).notification == sent)
    #expect(try await titles(component, carla) == ["for carla", "for two"])
    #expect(try await component.service.all(carla).first?.id == sent.id)
    #expect(try await titles(component, anna) == ["for two"])
    #expect(try await titles(component, bruno).isEmpty)
    #expect(try await component.service.all(carla).allSatisfy { $0.recipientIds.isEmpty })
    await component.close()
  }

  @Test func unknownRecipientsAreRefused() async throws {
    let component = try await Fixture().open()
    let box = try await shared(component)
    var request = notification("x", in: box.id)
    request.notification?.recipientIds = ["nobody"]
    let missing = await failure { try await component.service.createNotification(request, context: anna) }
    #expect(missing?.code == .notFound && missing?.reason == "RECIPIENT_NOT_FOUND")
    #expect(missing?.fieldViolations.map(\.field) == ["notification.recipientIds"])
    request.notification?.recipientIds = ["a b"]
    let invalid = await failure { try await component.service.createNotification(request, context: anna) }
    #expect(faults(invalid) == ["notification.recipientIds[0] ID_INVALID"])
    request.notification?.recipientIds = Array(repeating: "anna", count: 101)
    let many = await failure { try await component.service.createNotification(request, context: anna) }
    #expect(faults(many) == ["notification.recipientIds TOO_MANY"])
    // An unshared bucket has one member.
    let private_ = try await component.service.makeBucket("p", anna)
    _ = try await publish(in: private_.id, component) { $0.recipientIds = ["anna"] }
    request = notification("x", in: private_.id)
    request.notification?.recipientIds = ["bruno"]
    let foreign = await failure { try await component.service.createNotification(request, context: anna) }
    #expect(foreign?.reason == "RECIPIENT_NOT_FOUND")
    #expect(try await titles(component, anna) == ["n"])
    await component.close()
  }

  @Test func scheduledNotificationsKeepTheirRecipients() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await shared(component)
    let waiting = try await publish(in: box.id, component) {
      $0.recipientIds = ["carla"]
      $0.deliverTime = fixture.clock.time(afterMs: 60_000)
    }
    #expect(waiting.recipientIds == ["carla"] && waiting.deliveryState == .scheduled)
    fixture.clock.advance(by: .milliseconds(60_001))
    _ = try await component.timers.runDue()
    #expect(try await titles(component, user("carla")) == ["n"])
    #expect(try await titles(component, anna).isEmpty)
    await component.close()
  }

  @Test func soundThreadAndOwnIDAreStored() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("b", anna)
    let made = try await publish(in: box.id, component) {
      $0.sound = "bell.caf"
      $0.threadId = "t"
      $0.actions = [Action(type: .openNotification), Action(type: .openNotification, value: "n_other")]
      $0.tapAction = Action(type: .openNotification)
    }
    let stored = try #require(
      try await component.service.getNotification(.init(notificationId: made.id), context: anna).notification)
    #expect(stored == made && stored.sound == "bell.caf" && stored.threadId == "t")
    #expect(stored.actions.map(\.value) == [made.id, "n_other"] && stored.tapAction?.value == made.id)
    var change = Notification(id: made.id)
    change.actions = [Action(type: .openNotification)]
    let changed = try await component.service.updateNotification(
      .init(notification: change, updateMask: mask("actions")), context: anna)
    #expect(changed.notification?.actions.map(\.value) == [made.id] && changed.notification?.sound == "bell.caf")
    var long = notification("x", in: box.id)
    long.notification?.sound = String(repeating: "x", count: 129)
    long.notification?.threadId = String(repeating: "x", count: 129)
    let error = await failure { try await component.service.createNotification(long, context: anna) }
    #expect(faults(error) == ["notification.sound TOO_LONG", "notification.threadId TOO_LONG"])
    await component.close()
  }
}
