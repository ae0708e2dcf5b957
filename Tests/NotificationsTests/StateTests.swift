import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct StateTests {
  @Test func marksAllReadInRangesAndReportsThem() async throws {
    var limits = NotificationsLimits()
    limits.rowsPerCommit = 7
    let component = try await Fixture(limits).open()
    let one = try await component.service.makeBucket("one", anna)
    let two = try await component.service.makeBucket("two", anna)
    var seen = ""
    for index in 0..<20 {
      seen = try await component.service.make("n\(index)", in: index % 2 == 0 ? one.id : two.id, anna).id
    }
    let start = try await component.service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna")
    let unseen = try await component.service.make("unseen", in: two.id, anna)
    var request = MarkAllNotificationsReadRequest(bucketId: one.id, throughNotificationId: seen)
    let first = try await component.service.markAllNotificationsRead(request, context: anna)
    #expect(first.changedCount == 10 && first.unreadCounts?.total == 11 && first.unreadCounts?.byBucket == [two.id: 11])
    request.bucketId = ""
    let rest = try await component.service.markAllNotificationsRead(request, context: anna)
    #expect(rest.changedCount == 10 && rest.unreadCounts?.total == 1)
    #expect(try await component.service.markAllNotificationsRead(request, context: anna).changedCount == 0)
    let later = try await component.service.getNotification(.init(notificationId: unseen.id), context: anna)
      .notification
    #expect(later?.readTime == nil)
    let changes = try await component.service.repository.changes(after: start, user: "anna", rowsMax: 100)
      .filter { $0.kind == .markedRead }
    #expect(changes.map(\.bucketID) == [one.id, one.id, "", ""])
    let missing = await failure { try await component.service.markAllNotificationsRead(.init(), context: anna) }
    #expect(missing?.fieldViolations.map(\.field) == ["throughNotificationId"])
    request.bucketId = "b_unknown"
    #expect(
      await failure { try await component.service.markAllNotificationsRead(request, context: anna) }?.code == .notFound)
    await component.close()
  }

  @Test func deletedNotificationsAreRestoredUnchanged() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let read = try await component.service.make("read", in: box.id, anna)
    let unread = try await component.service.make("unread", in: box.id, anna)
    try await component.service.mark([read.id], isRead: true, anna)
    let delete = BatchDeleteNotificationsRequest(notificationIds: [read.id, unread.id, unread.id])
    #expect(try await component.service.batchDeleteNotifications(delete, context: anna).deletedCount == 2)
    let listed = try await component.service.listDeletedNotifications(.init(), context: anna).notifications
    #expect(Set(listed.map(\.id)) == [read.id, unread.id] && listed.allSatisfy { $0.deleteTime != nil })
    let undelete = UndeleteNotificationsRequest(notificationIds: [read.id, unread.id, "n_unknown"])
    let restored = try await component.service.undeleteNotifications(undelete, context: anna)
    #expect(restored.restoredCount == 2 && restored.unreadCounts?.total == 1 && restored.missingIds == ["n_unknown"])
    #expect(try await component.service.all(anna).map(\.title) == ["unread", "read"])
    // A restored notification is not missing.
    let again = try await component.service.undeleteNotifications(undelete, context: anna)
    #expect(again.restoredCount == 0 && again.missingIds == ["n_unknown"])
    await component.close()
  }

  @Test func deletedBucketsAreRestoredWithTheirNotifications() async throws {
    var limits = NotificationsLimits()
    limits.bucketDeletionRows = 3
    let fixture = try Fixture(limits)
    let component = try await fixture.open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await component.sharing.share(box.id, with: "bruno", as: .reader, by: "anna")
    for index in 0..<10 { _ = try await service.make("n\(index)", in: box.id, anna) }
    let gone = try await service.make("gone before", in: box.id, anna)
    _ = try await service.batchDeleteNotifications(.init(notificationIds: [gone.id]), context: anna)
    let request = DeleteBucketRequest(bucketId: box.id)
    #expect(try await service.deleteBucket(request, context: anna).deletedNotificationCount == 10)
    #expect(try await service.all(anna).isEmpty)
    #expect(try await service.all(bruno).isEmpty)
    #expect(try await service.listBuckets(.init(), context: anna).buckets.isEmpty)
    let listed = try await service.listDeletedBuckets(.init(), context: anna).buckets
    #expect(listed.map(\.id) == [box.id] && listed.first?.purgeTime != nil)
    #expect(await failure { try await service.make("x", in: box.id, anna) }?.code == .notFound)
    let undelete = UndeleteBucketRequest(bucketId: box.id)
    #expect(await failure { try await service.undeleteBucket(undelete, context: bruno) }?.code == .notFound)
    let restored = try #require(try await service.undeleteBucket(undelete, context: anna).bucket)
    #expect(restored.notificationCount == 10 && restored.unreadCount == 10)
    #expect(try await service.all(anna).map(\.title) == (0..<10).reversed().map { "n\($0)" })
    // The member has eleven: the owner deleted only the owner's copy, not the member's.
    #expect(try await service.all(bruno).count == 11)
    fixture.clock.advance(by: .milliseconds(31 * 24 * 3_600_000))
    _ = try await service.deleteBucket(request, context: anna)
    fixture.clock.advance(by: .milliseconds(30 * 24 * 3_600_000))
    #expect(await failure { try await service.undeleteBucket(undelete, context: anna) }?.code == .notFound)
    await component.close()
  }

  @Test func interruptedDeletionResumes() async throws {
    var limits = NotificationsLimits()
    limits.bucketDeletionRows = 2
    let fixture = try Fixture(limits)
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    for index in 0..<7 { _ = try await component.service.make("n\(index)", in: box.id, anna) }
    // The state after the first commit of a deletion.
    let repository = try #require(component.service.repository as? SQLiteNotificationsRepository)
    let nowMs = fixture.clock.nowMs
    try await repository.write { transaction in
      try transaction.execute(
        SQLiteNotificationsRepository.hideBucketSQL, [.integer(nowMs), "anna", .text(box.id)])
      try repository.setTimer(.emptyBucket, box.id, user: "anna", dueMs: nowMs + 60_000, transaction)
    }
    #expect(try await component.service.all(anna).count == 7)
    fixture.clock.advance(by: .seconds(60))
    #expect(try await component.timers.runDue() == 1)
    #expect(try await component.service.all(anna).isEmpty)
    #expect(try await component.timers.runDue() == 0)
    let undelete = UndeleteBucketRequest(bucketId: box.id)
    #expect(try await component.service.undeleteBucket(undelete, context: anna).bucket?.notificationCount == 7)
    await component.close()
  }

  @Test func summaryShowsNewestUnread() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("inbox", anna)
    var ids: [String] = []
    for index in 0..<7 { ids.append(try await component.service.make("n\(index)", in: box.id, anna).id) }
    try await component.service.mark([ids[5]], isRead: true, anna)
    var summary = try #require(try await component.service.getUnreadSummary(.init(), context: anna).summary)
    #expect(summary.notifications.map(\.title) == ["n6", "n4", "n3", "n2", "n1"] && summary.unreadCount == 6)
    #expect(summary.notifications.first?.bucketName == "inbox")
    var settings = UpdateUserSettingsRequest(settings: UserSettings())
    settings.settings?.summarySize = 3
    _ = try await component.service.updateUserSettings(settings, context: anna)
    summary = try #require(try await component.service.getUnreadSummary(.init(), context: anna).summary)
    #expect(summary.notifications.count == 3)
    settings.settings?.summarySize = 6
    #expect(
      await failure { try await component.service.updateUserSettings(settings, context: anna) }?.fieldViolations.first?
        .field == "settings.summarySize")
    // A single message is pending, however many changes there were.
    let counts = try await component.store.outboxCounts()
    #expect(counts.pending == 1)
    await component.close()
  }
}
