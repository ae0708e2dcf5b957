import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Notifications

/// Calls every method as a stranger with another user's ids. The errors equal those for ids that do not exist.
@Suite struct ForeignAccessTests {
  private typealias Call =
    @Sendable (NotificationsService, _ notification: String, _ bucket: String, CallContext) async throws -> Void

  private static let calls: [(method: MethodDescriptor, call: Call)] = [
    (
      NotificationsServiceMethods.getBucket,
      { service, _, bucket, context in
        let request = GetBucketRequest(bucketId: bucket)
        _ = try await service.getBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.updateBucket,
      { service, _, bucket, context in
        let change = Bucket(id: bucket, name: "mine now")
        let request = UpdateBucketRequest(bucket: change)
        _ = try await service.updateBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.deleteBucket,
      { service, _, bucket, context in
        let request = DeleteBucketRequest(bucketId: bucket)
        _ = try await service.deleteBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.createNotification,
      { service, _, bucket, context in
        _ = try await service.createNotification(notification("x", in: bucket), context: context)
      }
    ),
    (
      NotificationsServiceMethods.batchCreateNotifications,
      { service, _, bucket, context in
        let request = BatchCreateNotificationsRequest(requests: [notification("x", in: bucket)])
        let results = try await service.batchCreateNotifications(request, context: context).results
        guard case .error(let error)? = results[0].outcome else { return }
        throw RPCError(.notFound, error.message, reason: error.reason, errorMetadata: ["field": error.field])
      }
    ),
    (
      NotificationsServiceMethods.getNotification,
      { service, notification, _, context in
        let request = GetNotificationRequest(notificationId: notification)
        _ = try await service.getNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.listNotifications,
      { service, _, bucket, context in
        let request = ListNotificationsRequest(bucketId: bucket)
        _ = try await service.listNotifications(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.updateNotification,
      { service, notification, _, context in
        let change = Notification(id: notification, title: "mine now")
        let request = UpdateNotificationRequest(notification: change)
        _ = try await service.updateNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.markNotificationsRead,
      { service, notification, _, context in
        try await service.mark([notification], isRead: true, context)
      }
    ),
    (
      NotificationsServiceMethods.markNotificationsUnread,
      { service, notification, _, context in
        try await service.mark([notification], isRead: false, context)
      }
    ),
    (
      NotificationsServiceMethods.undeleteBucket,
      { service, _, bucket, context in
        let request = UndeleteBucketRequest(bucketId: bucket)
        _ = try await service.undeleteBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.snoozeBucket,
      { service, _, bucket, context in
        let request = SnoozeBucketRequest(bucketId: bucket, minutes: 5)
        _ = try await service.snoozeBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.markAllNotificationsRead,
      { service, _, bucket, context in
        let request = MarkAllNotificationsReadRequest(bucketId: bucket)
        _ = try await service.markAllNotificationsRead(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.snoozeNotification,
      { service, notification, _, context in
        let request = SnoozeNotificationRequest(notificationId: notification, minutes: 5)
        _ = try await service.snoozeNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.postponeNotification,
      { service, notification, _, context in
        let request = PostponeNotificationRequest(notificationId: notification, minutes: 5)
        _ = try await service.postponeNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.cancelScheduledNotification,
      { service, notification, _, context in
        let request = CancelScheduledNotificationRequest(notificationId: notification)
        _ = try await service.cancelScheduledNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.searchNotifications,
      { service, _, bucket, context in
        let request = SearchNotificationsRequest(query: "secret", bucketId: bucket)
        _ = try await service.searchNotifications(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.getLongLook,
      { service, notification, _, context in
        let request = GetLongLookRequest(notificationId: notification)
        _ = try await service.getLongLook(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.invokeAction,
      { service, notification, _, context in
        let request = InvokeActionRequest(notificationId: notification, actionId: "delete")
        _ = try await service.invokeAction(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.explainDelivery,
      { service, notification, _, context in
        let request = ExplainDeliveryRequest(notificationId: notification)
        _ = try await service.explainDelivery(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.getAttachmentContent,
      { service, notification, _, context in
        let request = GetAttachmentContentRequest(notificationId: notification, contentId: "x")
        _ = try await service.getAttachmentContent(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.watchNotifications,
      { service, _, bucket, context in
        let request = WatchNotificationsRequest(bucketId: bucket)
        try await service.watch.run(request, user: try context.requireUser()) { try $0() != nil }
      }
    ),
  ]

  @Test func foreignAndMissingLookTheSame() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", user("anna"))
    let own = try await service.make("secret", in: box.id, user("anna"))
    _ = try await service.makeBucket("his", user("bruno"))
    // Ids of equal length, so that the messages can be compared.
    let absentID = "n_" + String(repeating: "0", count: 22)
    let absentBucket = "b_" + String(repeating: "0", count: 22)
    for (method, call) in Self.calls {
      let foreign = await failure { try await call(service, own.id, box.id, user("bruno")) }
      let absent = await failure { try await call(service, absentID, absentBucket, user("bruno")) }
      var expected = try #require(absent)
      expected.message = expected.message.replacing(absentID, with: own.id).replacing(absentBucket, with: box.id)
      if let id = expected.errorMetadata["id"] { expected.errorMetadata["id"] = id == absentID ? own.id : box.id }
      #expect(foreign == expected && foreign?.code == .notFound, "\(method.name)")
    }
    // Deletion ignores ids that do not exist and changes nothing.
    let delete = DeleteNotificationsRequest(notificationIds: [own.id, absentID])
    #expect(try await service.deleteNotifications(delete, context: user("bruno")).deletedCount == 0)
    #expect(try await service.all(user("anna")) == [own])
    #expect(try await service.all(user("bruno")).isEmpty)
    var change = Notification(id: own.id)
    let foreignBox = try await service.makeBucket("foreign", user("bruno"))
    change.bucketId = foreignBox.id
    let move = UpdateNotificationRequest(notification: change)
    let moved = await failure { try await service.updateNotification(move, context: user("anna")) }
    #expect(moved?.code == .notFound && moved?.fieldViolations.map(\.field) == ["notification.bucketId"])
    await component.close()
  }

  @Test func everyMethodIsCovered() {
    let others: Set = [
      "CreateBucket", "ListBuckets", "DeleteNotifications", "GetUnreadCounts", "UndeleteNotifications",
      "ListDeletedNotifications", "ListScheduledNotifications", "ListActionRuns", "GetUnreadSummary",
      "GetUserSettings", "UpdateUserSettings",
    ]
    #expect(Set(Self.calls.map(\.method.name)).union(others) == Set(NotificationsServiceMethods.all.map(\.name)))
  }

  @Test func everyMethodNeedsAUser() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let nobody = CallContext(method: anyMethod)
    let program = CallContext(method: anyMethod, principal: Principal(kind: .service, id: "sync"))
    let more: [Call] = [
      { service, _, _, context in _ = try await service.createBucket(bucket("x"), context: context) },
      { service, _, _, context in _ = try await service.listBuckets(.init(), context: context) },
      { service, _, _, context in _ = try await service.deleteNotifications(.init(), context: context) },
      { service, _, _, context in _ = try await service.getUnreadCounts(.init(), context: context) },
      { service, _, _, context in _ = try await service.undeleteNotifications(.init(), context: context) },
      { service, _, _, context in _ = try await service.listDeletedNotifications(.init(), context: context) },
      { service, _, _, context in _ = try await service.listScheduledNotifications(.init(), context: context) },
      { service, _, _, context in _ = try await service.listActionRuns(.init(), context: context) },
      { service, _, _, context in _ = try await service.getUnreadSummary(.init(), context: context) },
      { service, _, _, context in _ = try await service.getUserSettings(.init(), context: context) },
      { service, _, _, context in _ = try await service.updateUserSettings(.init(), context: context) },
    ]
    for call in Self.calls.map(\.call) + more {
      #expect(await failure { try await call(service, "n_x", "b_x", nobody) }?.code == .unauthenticated)
      #expect(await failure { try await call(service, "n_x", "b_x", program) }?.code == .permissionDenied)
    }
    await component.close()
  }
}
