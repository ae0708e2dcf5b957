import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Notifications

/// Calls every method as a stranger with another user's ids. The errors equal those for ids that do not exist.
@Suite struct ForeignAccessTests {
  private typealias Methods = NotificationsServiceMethods
  private typealias Call = @Sendable (NotificationsService, _ id: String, CallContext) async throws -> Void

  private static let ofBucket: [(method: MethodDescriptor, call: Call)] = [
    (Methods.getBucket, { _ = try await $0.getBucket(.init(bucketId: $1), context: $2) }),
    (
      Methods.updateBucket,
      { _ = try await $0.updateBucket(.init(bucket: Bucket(id: $1, name: "mine now")), context: $2) }
    ),
    (Methods.deleteBucket, { _ = try await $0.deleteBucket(.init(bucketId: $1), context: $2) }),
    (Methods.createNotification, { _ = try await $0.createNotification(notification("x", in: $1), context: $2) }),
    (
      Methods.batchCreateNotifications,
      { service, bucket, context in
        let request = BatchCreateNotificationsRequest(requests: [notification("x", in: bucket)])
        let results = try await service.batchCreateNotifications(request, context: context).results
        guard case .error(let error)? = results[0].outcome else { return }
        throw RPCError(
          .notFound, error.message, reason: error.reason, errorMetadata: ["field": error.violations.first?.field ?? ""])
      }
    ),
    (Methods.listNotifications, { _ = try await $0.listNotifications(.init(bucketId: $1), context: $2) }),
    (Methods.undeleteBucket, { _ = try await $0.undeleteBucket(.init(bucketId: $1), context: $2) }),
    (Methods.getBucketSettings, { _ = try await $0.getBucketSettings(.init(bucketId: $1), context: $2) }),
    (
      Methods.updateBucketSettings,
      {
        _ = try await $0.updateBucketSettings(
          .init(settings: BucketSettings(bucketId: $1, isMuted: true)), context: $2)
      }
    ),
    (
      Methods.listNotificationChanges,
      { _ = try await $0.listNotificationChanges(.init(bucketId: $1), context: $2) }
    ),
    (
      Methods.markAllNotificationsRead,
      { _ = try await $0.markAllNotificationsRead(.init(bucketId: $1, throughNotificationId: "~"), context: $2) }
    ),
    (
      Methods.searchNotifications,
      { _ = try await $0.searchNotifications(.init(query: "secret", bucketId: $1), context: $2) }
    ),
    (
      Methods.watchNotifications,
      { service, bucket, context in
        let request = WatchNotificationsRequest(bucketId: bucket)
        try await service.watch.run(request, user: try context.requireUser()) { try $0() != nil }
      }
    ),
  ]

  private static let ofNotification: [(method: MethodDescriptor, call: Call)] = [
    (Methods.getNotification, { _ = try await $0.getNotification(.init(notificationId: $1), context: $2) }),
    (
      Methods.updateNotification,
      { _ = try await $0.updateNotification(.init(notification: Notification(id: $1, title: "mine now")), context: $2) }
    ),
    (Methods.deleteNotification, { _ = try await $0.deleteNotification(.init(notificationId: $1), context: $2) }),
    (
      Methods.snoozeNotification,
      { _ = try await $0.snoozeNotification(.init(notificationId: $1), context: $2) }
    ),
    (
      Methods.postponeNotification,
      { _ = try await $0.postponeNotification(.init(notificationId: $1, releaseTime: ProtoTimestamp()), context: $2) }
    ),
    (
      Methods.cancelScheduledNotification,
      { _ = try await $0.cancelScheduledNotification(.init(notificationId: $1), context: $2) }
    ),
    (Methods.cancelPostponement, { _ = try await $0.cancelPostponement(.init(notificationId: $1), context: $2) }),
    (Methods.getLongLook, { _ = try await $0.getLongLook(.init(notificationId: $1), context: $2) }),
    (
      Methods.invokeAction,
      { _ = try await $0.invokeAction(.init(notificationId: $1, actionId: "delete"), context: $2) }
    ),
    (Methods.explainDelivery, { _ = try await $0.explainDelivery(.init(notificationId: $1), context: $2) }),
    (
      Methods.getAttachmentContent,
      { _ = try await $0.getAttachmentContent(.init(notificationId: $1, contentId: "x"), context: $2) }
    ),
  ]

  @Test func foreignAndMissingLookTheSame() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let own = try await service.make("secret", in: box.id, anna)
    _ = try await service.makeBucket("his", bruno)
    for (method, call) in Self.ofBucket {
      try await expectLooksMissing(box.id, "\(method.name)") { try await call(service, $0, bruno) }
    }
    for (method, call) in Self.ofNotification {
      try await expectLooksMissing(own.id, "\(method.name)") { try await call(service, $0, bruno) }
    }
    #expect(try await service.all(anna) == [own])
    #expect(try await service.all(bruno).isEmpty)
    var change = Notification(id: own.id)
    let foreignBox = try await service.makeBucket("foreign", bruno)
    change.bucketId = foreignBox.id
    let moved = await failure { try await service.updateNotification(.init(notification: change), context: anna) }
    #expect(moved?.code == .notFound && moved?.fieldViolations.map(\.field) == ["notification.bucketId"])
    await component.close()
  }

  @Test("calls with a list of ids report foreign ids as missing, like ids that do not exist, and change nothing")
  func foreignIdsAreMissing() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let unread = try await service.make("unread", in: box.id, anna)
    let read = try await service.make("read", in: box.id, anna)
    let trashed = try await service.make("trashed", in: box.id, anna)
    try await service.mark([read.id], isRead: true, anna)
    _ = try await service.batchDeleteNotifications(.init(notificationIds: [trashed.id]), context: anna)
    let before = try await service.all(anna)
    let ids = [unread.id, "n_" + String(repeating: "0", count: 22), read.id, trashed.id, unread.id]
    let missing = Array(ids.dropLast())
    let marked = try await service.markNotificationsRead(.init(notificationIds: ids), context: bruno)
    #expect(marked.missingIds == missing && marked.changedCount == 0 && marked.unreadCounts == UnreadCounts())
    let unmarked = try await service.markNotificationsUnread(.init(notificationIds: ids), context: bruno)
    #expect(unmarked.missingIds == missing && unmarked.changedCount == 0)
    let deleted = try await service.batchDeleteNotifications(.init(notificationIds: ids), context: bruno)
    #expect(deleted.missingIds == missing && deleted.deletedCount == 0)
    let restored = try await service.undeleteNotifications(.init(notificationIds: ids), context: bruno)
    #expect(restored.missingIds == missing && restored.restoredCount == 0)
    #expect(try await service.all(anna) == before)
    await component.close()
  }

  @Test func everyMethodIsCovered() {
    let others: Set = [
      "CreateBucket", "ListBuckets", "ListDeletedBuckets", "BatchDeleteNotifications", "GetUnreadCounts",
      "UndeleteNotifications", "MarkNotificationsRead", "MarkNotificationsUnread", "ListDeletedNotifications",
      "ListScheduledNotifications", "ListPostponedNotifications", "ListActionRuns", "GetUnreadSummary",
      "GetUserSettings", "UpdateUserSettings",
    ]
    #expect(Set((Self.ofBucket + Self.ofNotification).map(\.method.name)).union(others) == Set(Methods.all.map(\.name)))
  }

  @Test func everyMethodNeedsAUser() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let program = CallContext(method: anyMethod, principal: Principal(kind: .service, id: "sync"))
    let more: [Call] = [
      { service, _, context in _ = try await service.createBucket(bucket("x"), context: context) },
      { service, _, context in _ = try await service.listBuckets(.init(), context: context) },
      { service, _, context in _ = try await service.listDeletedBuckets(.init(), context: context) },
      { service, _, context in _ = try await service.batchDeleteNotifications(.init(), context: context) },
      { service, _, context in try await service.mark([], isRead: true, context) },
      { service, _, context in try await service.mark([], isRead: false, context) },
      { service, _, context in _ = try await service.getUnreadCounts(.init(), context: context) },
      { service, _, context in _ = try await service.undeleteNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.listDeletedNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.listScheduledNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.listPostponedNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.listActionRuns(.init(), context: context) },
      { service, _, context in _ = try await service.getUnreadSummary(.init(), context: context) },
      { service, _, context in _ = try await service.getUserSettings(.init(), context: context) },
      { service, _, context in _ = try await service.updateUserSettings(.init(), context: context) },
    ]
    for call in (Self.ofBucket + Self.ofNotification).map(\.call) + more {
      #expect(await failure { try await call(service, "x", nobody) }?.code == .unauthenticated)
      #expect(await failure { try await call(service, "x", program) }?.code == .permissionDenied)
    }
    await component.close()
  }
}
