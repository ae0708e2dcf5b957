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

@Suite struct LimitsAndIdempotencyTests {
  @Test func bucketsAndNotificationsHaveLimits() async throws {
    var limits = NotificationsLimits()
    limits.bucketsPerUserMax = 2
    limits.notificationsPerUserMax = 3
    let component = try await Fixture(limits).open()
    let service = component.service
    let context = anna
    let a = try await service.makeBucket("a", context)
    _ = try await service.makeBucket("b", context)
    let full = await failure { try await service.makeBucket("c", context) }
    #expect(full?.code == .resourceExhausted && full?.reason == "BUCKETS_EXHAUSTED")
    _ = try await service.makeBucket("other", bruno)
    _ = try await service.make("1", in: a.id, context)
    let batch = BatchCreateNotificationsRequest(requests: (0..<4).map { notification("\($0)", in: a.id) })
    let results = try await service.batchCreateNotifications(batch, context: context).results
    let reasons = results.map { result in
      if case .error(let error)? = result.outcome { error.reason } else { "" }
    }
    #expect(reasons == ["", "", "NOTIFICATIONS_EXHAUSTED", "NOTIFICATIONS_EXHAUSTED"])
    let over = await failure { try await service.make("5", in: a.id, context) }
    #expect(over?.code == .resourceExhausted && over?.reason == "NOTIFICATIONS_EXHAUSTED")
    #expect(try await service.getBucket(.init(bucketId: a.id), context: context).bucket?.notificationCount == 3)
    #expect(try await service.deleteBucket(.init(bucketId: a.id), context: context).deletedNotificationCount == 3)
    let again = try await service.makeBucket("c", context)
    _ = try await service.make("6", in: again.id, context)
    await component.close()
  }

  @Test func refusedBatchEntryTakesNoScheduledSlot() async throws {
    var limits = NotificationsLimits()
    limits.scheduledPerUserMax = 2
    let fixture = try Fixture(limits)
    let component = try await fixture.open()
    let context = anna
    let box = try await component.service.makeBucket("b", context)
    let beat = try await component.automation.make(heartbeat("h", in: box.id), context)
    let nowMs = fixture.clock.nowMs
    func create(_ heartbeats: [String]) async throws -> [String] {
      let batch = BatchCreateNotificationsRequest(
        requests: heartbeats.map { id in
          var request = notification("later", in: box.id)
          request.notification?.deliverTime = ProtoTimestamp(millisecondsSince1970: nowMs + 3_600_000)
          request.heartbeatId = id
          return request
        })
      return try await component.service.batchCreateNotifications(batch, context: context).results.map { result in
        if case .error(let error)? = result.outcome { error.reason } else { "" }
      }
    }
    #expect(
      try await create(["h_none", "h_none", "", beat.id]) == ["HEARTBEAT_NOT_FOUND", "HEARTBEAT_NOT_FOUND", "", ""])
    // Nor does an entry for which there is no place count as a beat.
    fixture.clock.advance(by: .seconds(60))
    #expect(try await create([beat.id, ""]) == ["SCHEDULED_EXHAUSTED", "SCHEDULED_EXHAUSTED"])
    let heartbeats = try await component.automation.listHeartbeats(.init(), context: context).heartbeats
    #expect(heartbeats.map(\.lastBeatTime?.millisecondsSince1970) == [nowMs])
    await component.close()
  }

  @Test func watchesHaveLimits() async throws {
    var limits = NotificationsLimits()
    limits.watchesPerUserMax = 1
    limits.watchesMax = 2
    let hub = WatchHub(limits: limits)
    let first = try hub.add(user: "anna")
    #expect(await failure { try hub.add(user: "anna") }?.reason == "WATCHES_EXHAUSTED")
    _ = try hub.add(user: "bruno")
    #expect(await failure { try hub.add(user: "carla") }?.code == .resourceExhausted)
    hub.remove(first, user: "anna")
    hub.remove(first, user: "anna")
    _ = try hub.add(user: "carla")
    #expect(hub.count == 2)
    hub.close()
    #expect(await failure { try hub.add(user: "dora") }?.code == .unavailable)
  }

  @Test func storedRepliesAreReturnedForADayAcrossRestarts() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    let context = anna
    let first = try #require(
      try await component.service.createBucket(bucket("b", requestID: "r"), context: context).bucket)
    let request = notification("once", in: first.id, requestID: "r")
    let made = try await component.service.createNotification(request, context: context)
    await component.close()
    component = try await fixture.open()
    fixture.clock.advance(by: .milliseconds(23 * 3_600_000))
    #expect(try await component.service.createBucket(bucket("b", requestID: "r"), context: context).bucket == first)
    #expect(try await component.service.createNotification(request, context: context) == made)
    #expect(try await component.service.all(context).count == 1)
    let reused = await failure {
      try await component.service.createBucket(bucket("c", requestID: "r"), context: context)
    }
    #expect(reused?.code == .failedPrecondition && reused?.reason == "REQUEST_ID_REUSED")
    #expect(reused?.fieldViolations.map(\.field) == ["requestId"])
    fixture.clock.advance(by: .milliseconds(2 * 3_600_000))
    #expect(try await component.maintain(nowMs: fixture.clock.nowMs) == 2)
    #expect(try await component.service.createNotification(request, context: context) != made)
    await component.close()
  }

  @Test("a repetition returns the first response, even if a time in the request has passed since")
  func repliesOutliveTheTimesOfTheirRequests() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let (service, sharing) = (component.service, component.sharing)
    let box = try await service.makeBucket("b", anna)
    let soon = fixture.clock.time(afterMs: 60_000)
    var create = notification("later", in: box.id, requestID: "r")
    create.notification?.deliverTime = soon
    let created = try await service.createNotification(create, context: anna)
    let batch = BatchCreateNotificationsRequest(requests: [create])
    let invite = InviteToBucketRequest(
      bucketId: box.id, userId: "bruno", role: .reader, expireTime: soon, requestId: "r")
    let invited = try await sharing.inviteToBucket(invite, context: anna)
    let key = CreatePublishKeyRequest(bucketId: box.id, name: "k", expireTime: soon, requestId: "r")
    let made = try await sharing.createPublishKey(key, context: anna)
    let code = CreateInviteCodeRequest(bucketId: box.id, role: .reader, expireTime: soon, requestId: "r")
    let issued = try await sharing.createInviteCode(code, context: anna)
    fixture.clock.advance(by: .seconds(60))
    #expect(try await service.createNotification(create, context: anna) == created)
    let result = try await service.batchCreateNotifications(batch, context: anna).results.first
    #expect(result?.outcome == created.notification.map { .notification($0) })
    #expect(try await sharing.inviteToBucket(invite, context: anna) == invited)
    #expect(try await sharing.createPublishKey(key, context: anna).key == made.key)
    #expect(try await sharing.createInviteCode(code, context: anna).code == issued.code)
    // Another request, and the same with another id, are not valid.
    create.notification?.title = "other"
    #expect(
      await failure { try await service.createNotification(create, context: anna) }?.reason == "TIME_PAST")
    create.notification?.title = "later"
    create.requestId = "new"
    #expect(
      await failure { try await service.createNotification(create, context: anna) }?.reason == "TIME_PAST")
    await component.close()
  }

  @Test func failedRequestCanBeRepeated() async throws {
    let component = try await Fixture().open()
    let context = anna
    var request = notification("x", in: "b_none", requestID: "r")
    #expect(
      await failure { try await component.service.createNotification(request, context: context) }?.code == .notFound)
    let box = try await component.service.makeBucket("b", context)
    request.notification?.bucketId = box.id
    _ = try await component.service.createNotification(request, context: context)
    await component.close()
  }

  @Test func concurrentRepetitionsCreateOnce() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let request = notification("once", in: box.id, requestID: "same")
    let made = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<32 {
        group.addTask { try await service.createNotification(request, context: anna).notification?.id ?? "" }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(made.count == 1)
    #expect(try await service.all(anna).map(\.id) == Array(made))
    await component.close()
  }

  @Test func batchEntriesHaveTheirOwnRequestIDs() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let context = anna
    let box = try await service.makeBucket("b", context)
    let batch = BatchCreateNotificationsRequest(requests: [
      notification("", in: box.id, requestID: "a"), notification("1", in: box.id, requestID: "a"),
      notification("1", in: box.id, requestID: "a"), notification("2", in: box.id, requestID: "a"),
      notification("3", in: box.id, requestID: String(repeating: "x", count: 65)),
    ])
    let results = try await service.batchCreateNotifications(batch, context: context).results
    let told = results.map { result in
      switch result.outcome {
      case .notification(let made)?: made.title
      case .error(let error)?: "\(error.reason) \(error.violations.map(\.field).joined(separator: " "))"
      case nil: "nothing"
      }
    }
    #expect(
      told == [
        "REQUIRED requests[0].notification.title", "1", "1", "REQUEST_ID_REUSED requests[3].requestId",
        "TOO_LONG requests[4].requestId",
      ])
    #expect(results[1] == results[2])
    #expect(try await service.all(context).map(\.title) == ["1"])
    // Equals a single call.
    let single = try await service.createNotification(notification("1", in: box.id, requestID: "a"), context: context)
    #expect(results[1].outcome == single.notification.map { .notification($0) })
    #expect(try await service.batchCreateNotifications(batch, context: context).results[1] == results[1])
    await component.close()
  }

  @Test func batchOfAThousandSucceeds() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let batch = BatchCreateNotificationsRequest(requests: (0..<1_000).map { notification("n\($0)", in: box.id) })
    let commits = component.store.metrics().commits
    let results = try await service.batchCreateNotifications(batch, context: anna).results
    #expect(component.store.metrics().commits == commits + 1)
    let ids = results.compactMap { result in
      if case .notification(let made)? = result.outcome { made.id } else { nil }
    }
    #expect(ids.count == 1_000 && ids == ids.sorted())
    #expect(try await service.all(anna, pageSize: 1_000).map(\.id) == ids.reversed())
    try await service.mark(ids, isRead: true, anna)
    #expect(try await service.repository.unreadCounts(user: "anna") == UnreadCounts())
    await component.close()
  }

  @Test func marksSkipMissingNotifications() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let one = try await service.make("1", in: box.id, anna)
    var request = MarkNotificationsReadRequest(notificationIds: ["n_none", one.id, "", one.id, "n_none"])
    let reply = try await service.markNotificationsRead(request, context: anna)
    #expect(reply.changedCount == 1 && reply.unreadCounts == UnreadCounts() && reply.missingIds == ["n_none", ""])
    #expect(try await service.markNotificationsRead(request, context: anna).changedCount == 0)
    request.notificationIds = []
    #expect(
      await failure { try await service.markNotificationsRead(request, context: anna) }?.reason == "REQUIRED")
    request.notificationIds = Array(repeating: one.id, count: 1_001)
    #expect(
      await failure { try await service.markNotificationsRead(request, context: anna) }?.reason == "TOO_MANY")
    await component.close()
  }
}
