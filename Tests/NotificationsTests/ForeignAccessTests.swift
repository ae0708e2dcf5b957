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
        var request = GetBucketRequest()
        request.bucketId = bucket
        _ = try await service.getBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.updateBucket,
      { service, _, bucket, context in
        var request = UpdateBucketRequest()
        var change = Bucket()
        change.id = bucket
        change.name = "mine now"
        request.bucket = change
        _ = try await service.updateBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.deleteBucket,
      { service, _, bucket, context in
        var request = DeleteBucketRequest()
        request.bucketId = bucket
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
        var request = BatchCreateNotificationsRequest()
        request.requests = [notification("x", in: bucket)]
        let results = try await service.batchCreateNotifications(request, context: context).results
        guard case .error(let error)? = results[0].outcome else { return }
        throw RPCError(.notFound, error.message, reason: error.reason, errorMetadata: ["field": error.field])
      }
    ),
    (
      NotificationsServiceMethods.getNotification,
      { service, notification, _, context in
        var request = GetNotificationRequest()
        request.notificationId = notification
        _ = try await service.getNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.listNotifications,
      { service, _, bucket, context in
        var request = ListNotificationsRequest()
        request.bucketId = bucket
        _ = try await service.listNotifications(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.updateNotification,
      { service, notification, _, context in
        var request = UpdateNotificationRequest()
        var change = Notification()
        change.id = notification
        change.title = "mine now"
        request.notification = change
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
        var request = UndeleteBucketRequest()
        request.bucketId = bucket
        _ = try await service.undeleteBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.snoozeBucket,
      { service, _, bucket, context in
        var request = SnoozeBucketRequest()
        request.bucketId = bucket
        request.minutes = 5
        _ = try await service.snoozeBucket(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.markAllNotificationsRead,
      { service, _, bucket, context in
        var request = MarkAllNotificationsReadRequest()
        request.bucketId = bucket
        _ = try await service.markAllNotificationsRead(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.snoozeNotification,
      { service, notification, _, context in
        var request = SnoozeNotificationRequest()
        request.notificationId = notification
        request.minutes = 5
        _ = try await service.snoozeNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.postponeNotification,
      { service, notification, _, context in
        var request = PostponeNotificationRequest()
        request.notificationId = notification
        request.minutes = 5
        _ = try await service.postponeNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.cancelScheduledNotification,
      { service, notification, _, context in
        var request = CancelScheduledNotificationRequest()
        request.notificationId = notification
        _ = try await service.cancelScheduledNotification(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.searchNotifications,
      { service, _, bucket, context in
        var request = SearchNotificationsRequest()
        request.bucketId = bucket
        request.query = "secret"
        _ = try await service.searchNotifications(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.getLongLook,
      { service, notification, _, context in
        var request = GetLongLookRequest()
        request.notificationId = notification
        _ = try await service.getLongLook(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.invokeAction,
      { service, notification, _, context in
        var request = InvokeActionRequest()
        request.notificationId = notification
        request.actionId = "delete"
        _ = try await service.invokeAction(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.explainDelivery,
      { service, notification, _, context in
        var request = ExplainDeliveryRequest()
        request.notificationId = notification
        _ = try await service.explainDelivery(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.getAttachmentContent,
      { service, notification, _, context in
        var request = GetAttachmentContentRequest()
        request.notificationId = notification
        request.contentId = "x"
        _ = try await service.getAttachmentContent(request, context: context)
      }
    ),
    (
      NotificationsServiceMethods.watchNotifications,
      { service, _, bucket, context in
        var request = WatchNotificationsRequest()
        request.bucketId = bucket
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
    var delete = DeleteNotificationsRequest()
    delete.notificationIds = [own.id, absentID]
    #expect(try await service.deleteNotifications(delete, context: user("bruno")).deletedCount == 0)
    #expect(try await service.all(user("anna")) == [own])
    #expect(try await service.all(user("bruno")).isEmpty)
    var move = UpdateNotificationRequest()
    var change = Notification()
    change.id = own.id
    let foreignBox = try await service.makeBucket("foreign", user("bruno"))
    change.bucketId = foreignBox.id
    move.notification = change
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
