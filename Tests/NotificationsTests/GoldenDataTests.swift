import CampanileAPI
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// Data that earlier versions have written are the same after the upgrade.
@Suite struct GoldenDataTests {
  private static let golden = GoldenData()

  @Test(arguments: golden.dumps) func dataOfEarlierVersionsAreUnchanged(_ dump: GoldenData.Dump) async throws {
    let fixture = try Fixture()
    try await Self.golden.load(
      dump, into: fixture.folder.file("notifications.sqlite"), migrations: NotificationsMigrations.all,
      omitting: NotificationsMigrations.rebuiltTables, finishing: [NotificationsMigrations.rebuildSQL])
    fixture.clock.advance(by: .seconds(5))
    let component = try await fixture.open()
    #expect(try await answers(component) == Self.golden.answers(dump))
    await component.close()
  }

  @Test(.whenWritingGoldenData) func writeData() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let home = try await service.makeBucket("Home", anna)
    let work = try await service.makeBucket("Work", anna)
    try await component.sharing.share(home.id, with: "bruno", as: .reader, by: "anna")
    _ = try await component.sharing.invite("carla", to: work.id, by: "anna")
    let first = try await service.make("Café öffnet", in: home.id, anna)
    let second = try await publish(in: work.id, component) { draft in
      (draft.title, draft.subtitle, draft.body) = ("Disk", "of the server", "It is\nfull: 100 %")
    }
    let gone = try await service.make("gone", in: work.id, anna)
    try await service.mark([first.id], isRead: true, anna)
    try await service.mark([first.id], isRead: true, bruno)
    _ = try await service.deleteNotification(.init(notificationId: gone.id), context: anna)
    try await service.snooze(
      work.id, until: ProtoTimestamp(millisecondsSince1970: fixture.clock.nowMs + 3_600_000), anna)
    _ = try await component.automation.createTemplate(
      .init(template: Template(name: "t", title: "{{host}} is down")), context: anna)
    fixture.clock.advance(by: .seconds(5))
    _ = try await publish(in: home.id, component) { $0.title = "After \(second.title)" }
    let answers = try await self.answers(component)
    await component.close()
    try Self.golden.write(fixture.folder.file("notifications.sqlite"), answers: answers)
  }

  private func answers(_ component: NotificationsComponent) async throws -> [String] {
    var answers: [String] = []
    for context in [anna, bruno, user("carla")] {
      answers += try await [
        component.service.listBuckets(.init(), context: context).jsonString(),
        component.service.listNotifications(.init(), context: context).jsonString(),
        component.service.getUnreadCounts(.init(), context: context).jsonString(),
        component.service.searchNotifications(.init(query: "cafe"), context: context).jsonString(),
        component.service.listDeletedNotifications(.init(), context: context).jsonString(),
        component.sharing.listInvitations(.init(), context: context).jsonString(),
        component.automation.listTemplates(.init(), context: context).jsonString(),
      ]
    }
    return answers
  }
}
