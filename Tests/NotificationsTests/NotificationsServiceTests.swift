import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct NotificationsServiceTests {
  @Test func storesEveryFieldOfANotification() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let box = try await service.makeBucket("Casa", anna)
    var request = notification("Perché no? 🎉", in: box.id)
    request.notification?.subtitle = "sottotitolo"
    request.notification?.body = "corpo \u{1}\n\"x\""
    request.notification?.priority = .critical
    let attachment = Attachment(mediaType: .image, url: "https://example.org/à.png")
    request.notification?.attachments = [attachment]
    let action = Action(type: .backgroundCall, value: "POST::https://example.org/x?y=1", destructive: true)
    request.notification?.actions = [action]
    request.notification?.tapAction = action
    let made = try #require(try await service.createNotification(request, context: anna).notification)
    #expect(
      made.priority == .critical && made.attachments == [attachment] && made.actions == [action]
        && made.tapAction == action)
    #expect(try await service.getNotification(.init(notificationId: made.id), context: anna).notification == made)
  }

  @Test func pagesNewestFirstWithoutGapsWhileOthersArrive() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let context = anna
    let box = try await service.makeBucket("b", context)
    var ids: [String] = []
    for index in 0..<40 { ids.append(try await service.make("n\(index)", in: box.id, context).id) }
    var request = ListNotificationsRequest(pageSize: 9)
    var seen: [String] = []
    repeat {
      let page = try await service.listNotifications(request, context: context)
      seen += page.notifications.map(\.id)
      request.pageToken = page.nextPageToken
      _ = try await service.make("late", in: box.id, context)
    } while !request.pageToken.isEmpty
    #expect(seen == ids.reversed())
  }

  @Test func filtersByBucketUnreadAndTime() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let context = anna
    let a = try await service.makeBucket("a", context)
    let b = try await service.makeBucket("b", context)
    let first = try await service.make("1", in: a.id, context)
    fixture.clock.advance(by: .seconds(60))
    let second = try await service.make("2", in: b.id, context)
    fixture.clock.advance(by: .seconds(60))
    let third = try await service.make("3", in: a.id, context)
    _ = try await service.markNotificationsRead(.init(notificationIds: [first.id]), context: context)
    #expect(try await service.all(context) { $0.bucketId = a.id }.map(\.id) == [third.id, first.id])
    #expect(try await service.all(context) { $0.unreadOnly = true }.map(\.id) == [third.id, second.id])
    #expect(try await service.all(context) { $0.startTime = second.createTime }.map(\.id) == [third.id, second.id])
    #expect(try await service.all(context) { $0.endTime = second.createTime }.map(\.id) == [first.id])
  }

  @Test func rejectsInvalidFieldsAndStoresNothing() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let context = anna
    let box = try await service.makeBucket("b", context)
    func refused(_ change: (inout Notification) -> Void) async -> [String] {
      var request = notification("fine", in: box.id)
      change(&request.notification!)
      return await failure { try await service.createNotification(request, context: context) }?.fieldViolations.map(
        \.field) ?? []
    }
    #expect(await refused { $0.title = "" } == ["notification.title"])
    #expect(await refused { $0.title = String(repeating: "é", count: 257) } == ["notification.title"])
    #expect(await refused { $0.subtitle = String(repeating: "x", count: 257) } == ["notification.subtitle"])
    #expect(await refused { $0.body = String(repeating: "x", count: 16_385) } == ["notification.body"])
    #expect(await refused { $0.priority = .unrecognized(77) } == ["notification.priority"])
    #expect(await refused { $0.bucketId = "" } == ["notification.bucketId"])
    #expect(
      await refused { $0.attachments = [Attachment()] } == [
        "notification.attachments[0].mediaType", "notification.attachments[0].url",
      ])
    #expect(
      await refused { $0.attachments = Array(repeating: Attachment(), count: 17) }.contains("notification.attachments"))
    for url in ["ftp://x", "javascript:alert(1)", "https://", "https:///x", "http://a b", "x"] {
      let fields = await refused {
        let attachment = Attachment(mediaType: .file, url: url)
        $0.attachments = [attachment]
      }
      #expect(fields == ["notification.attachments[0].url"], "\(url)")
    }
    for (type, value) in [
      (ActionType.backgroundCall, "POST"), (.backgroundCall, "FETCH::https://x.org"),
      (.backgroundCall, "GET::file:///x"),
      (.snooze, "soon"), (.snooze, "0"), (.postpone, "999999999"), (.navigate, ""), (.webhook, ""),
    ] {
      let fields = await refused {
        let action = Action(type: type, value: value)
        $0.tapAction = action
      }
      #expect(fields == ["notification.tapAction.value"], "\(type) \(value)")
    }
    #expect(
      await refused {
        $0.title = ""; $0.actions = [Action()]
      } == ["notification.actions[0].type", "notification.title"])
    #expect(try await service.all(context).isEmpty)
  }

  @Test func createsOncePerRequestID() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let context = anna
    let box = try await service.makeBucket("b", context)
    let request = notification("once", in: box.id, requestID: "r1")
    let first = try await service.createNotification(request, context: context)
    let second = try await service.createNotification(request, context: context)
    #expect(first == second)
    let other = await failure {
      try await service.createNotification(notification("twice", in: box.id, requestID: "r1"), context: context)
    }
    #expect(other?.code == .failedPrecondition && other?.reason == "REQUEST_ID_REUSED")
    #expect(try await service.all(context).count == 1)
    let foreign = try await service.makeBucket("b", bruno)
    _ = try await service.createNotification(
      notification("once", in: foreign.id, requestID: "r1"), context: bruno)
  }

  @Test func batchReturnsResultPerEntry() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let context = anna
    let box = try await service.makeBucket("b", context)
    var request = BatchCreateNotificationsRequest(requests: [
      notification("a", in: box.id), notification("", in: box.id), notification("c", in: "b_unknown"),
      notification("d", in: box.id),
    ])
    let results = try await service.batchCreateNotifications(request, context: context).results
    #expect(results.count == 4)
    guard case .notification(let a)? = results[0].outcome, case .error(let b)? = results[1].outcome,
      case .error(let c)? = results[2].outcome, case .notification(let d)? = results[3].outcome
    else { Issue.record("\(results)"); return }
    #expect(a.title == "a" && d.title == "d")
    #expect(b.violations.map(\.field) == ["requests[1].notification.title"] && b.code == 3)
    #expect(c.reason == "BUCKET_NOT_FOUND" && c.code == 5)
    #expect(try await service.all(context).map(\.title) == ["d", "a"])
    request.requests = []
    #expect(
      await failure { try await service.batchCreateNotifications(request, context: context) }?.code == .invalidArgument)
    request.requests = Array(repeating: notification("x", in: box.id), count: 1001)
    #expect(
      await failure { try await service.batchCreateNotifications(request, context: context) }?.code == .invalidArgument)
  }

  @Test func foreignObjectsLookMissing() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let box = try await service.makeBucket("b", anna)
    let own = try await service.make("secret", in: box.id, anna)
    let context = bruno
    var get = GetNotificationRequest()
    var getBucket = GetBucketRequest()
    var delete = DeleteBucketRequest()
    var list = ListNotificationsRequest()
    var update = UpdateNotificationRequest(notification: Notification())
    update.notification?.title = "x"
    var errors: [[RPCError?]] = []
    for (notificationID, bucketID) in [(own.id, box.id), ("n_none", "b_none")] {
      get.notificationId = notificationID
      getBucket.bucketId = bucketID
      delete.bucketId = bucketID
      update.notification?.id = notificationID
      list.bucketId = bucketID
      errors.append([
        await failure { try await service.getNotification(get, context: context) },
        await failure { try await service.getBucket(getBucket, context: context) },
        await failure { try await service.deleteBucket(delete, context: context) },
        await failure {
          try await service.deleteNotification(.init(notificationId: notificationID), context: context)
        },
        await failure { try await service.updateNotification(update, context: context) },
        await failure { try await service.listNotifications(list, context: context) },
        await failure { try await service.createNotification(notification("x", in: bucketID), context: context) },
      ])
    }
    for (foreign, missing) in zip(errors[0], errors[1]) {
      #expect(foreign?.code == .notFound && foreign?.reason == missing?.reason && missing?.code == .notFound)
    }
    #expect(
      await failure {
        try await service.getUnreadCounts(GetUnreadCountsRequest(), context: nobody)
      }?.code == .unauthenticated)
  }

  @Test func updatesByMaskAndETag() async throws {
    let fixture = try Fixture()
    let service = try await fixture.open().service
    let context = anna
    let a = try await service.makeBucket("a", context)
    let b = try await service.makeBucket("b", context)
    let made = try await service.make("before", in: a.id, context)
    var update = UpdateNotificationRequest(notification: Notification())
    update.notification?.id = made.id
    update.notification?.etag = made.etag
    update.notification?.title = "after"
    update.notification?.bucketId = b.id
    update.updateMask = ProtoFieldMask(paths: ["title", "bucket_id"])
    let updated = try #require(try await service.updateNotification(update, context: context).notification)
    #expect(updated.title == "after" && updated.bucketId == b.id && updated.etag != made.etag)
    #expect(await failure { try await service.updateNotification(update, context: context) }?.reason == "ETAG_MISMATCH")
    update.updateMask = ProtoFieldMask(paths: ["titel"])
    let unknown = await failure { try await service.updateNotification(update, context: context) }
    #expect(unknown?.fieldViolations.map(\.field) == ["updateMask"])
    var list = ListBucketsRequest(pageSize: 1)
    let page = try await service.listBuckets(list, context: context)
    #expect(page.buckets.map(\.notificationCount) == [0])
    list.pageToken = page.nextPageToken
    #expect(try await service.listBuckets(list, context: context).buckets.map(\.notificationCount) == [1])
    list.pageToken = "p1.zzz.b_x"
    #expect(await failure { try await service.listBuckets(list, context: context) }?.reason == "PAGE_TOKEN_INVALID")
  }
}
