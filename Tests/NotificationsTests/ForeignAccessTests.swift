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
        throw RPCError(.notFound, error.message, reason: error.reason, errorMetadata: ["field": error.field])
      }
    ),
    (Methods.listNotifications, { _ = try await $0.listNotifications(.init(bucketId: $1), context: $2) }),
    (Methods.undeleteBucket, { _ = try await $0.undeleteBucket(.init(bucketId: $1), context: $2) }),
    (Methods.snoozeBucket, { _ = try await $0.snoozeBucket(.init(bucketId: $1), context: $2) }),
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
    (Methods.markNotificationsRead, { try await $0.mark([$1], isRead: true, $2) }),
    (Methods.markNotificationsUnread, { try await $0.mark([$1], isRead: false, $2) }),
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
    // Deletion ignores ids that do not exist and changes nothing.
    let delete = DeleteNotificationsRequest(notificationIds: [own.id, "n_" + String(repeating: "0", count: 22)])
    #expect(try await service.deleteNotifications(delete, context: bruno).deletedCount == 0)
    #expect(try await service.all(anna) == [own])
    #expect(try await service.all(bruno).isEmpty)
    var change = Notification(id: own.id)
    let foreignBox = try await service.makeBucket("foreign", bruno)
    change.bucketId = foreignBox.id
    let moved = await failure { try await service.updateNotification(.init(notification: change), context: anna) }
    #expect(moved?.code == .notFound && moved?.fieldViolations.map(\.field) == ["notification.bucketId"])
    await component.close()
  }

  @Test func everyMethodIsCovered() {
    let others: Set = [
      "CreateBucket", "ListBuckets", "DeleteNotifications", "GetUnreadCounts", "UndeleteNotifications",
      "ListDeletedNotifications", "ListScheduledNotifications", "ListActionRuns", "GetUnreadSummary",
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
      { service, _, context in _ = try await service.deleteNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.getUnreadCounts(.init(), context: context) },
      { service, _, context in _ = try await service.undeleteNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.listDeletedNotifications(.init(), context: context) },
      { service, _, context in _ = try await service.listScheduledNotifications(.init(), context: context) },
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
