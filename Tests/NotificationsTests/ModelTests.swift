import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// Compares random operations of two users with a model in memory. Failures contain the seed; CAMPANILE_SEED repeats a
/// run.
@Suite struct ModelTests {
  /// The expected state of one user.
  struct Model {
    var buckets: [String] = []
    var notifications: [String: Notification] = [:]
    var deleted: [String] = []

    var unread: [String: Int32] {
      Dictionary(grouping: notifications.values.filter { $0.readTime == nil }, by: \.bucketId).mapValues {
        Int32($0.count)
      }
    }
  }

  @Test func listsCountsAndLogEqualTheModel() async throws {
    let seed =
      ProcessInfo.processInfo.environment["CAMPANILE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0 ... .max)
    var source = SplitMix(state: seed)
    var limits = NotificationsLimits()
    // Small enough that emptying a bucket sometimes takes several commits.
    limits.bucketDeletionRows = 5
    let fixture = try Fixture(limits)
    var component = try await fixture.open()
    var models: [String: Model] = ["anna": Model(), "bruno": Model()]
    for step in 0..<900 {
      let name = ["anna", "bruno"][source.below(2)]
      var model = models[name, default: Model()]
      try await Self.step(step, &model, component.service, user(name), &source)
      models[name] = model
      fixture.clock.advance(by: .milliseconds(Int64(source.below(3))))
      if step % 150 == 149 {
        await component.close()
        component = try await fixture.open()
      }
      if step % 30 == 29 {
        for (name, model) in models { try await check(component, name, model, "seed \(seed) step \(step)") }
      }
    }
    await component.close()
  }

  private static func step(
    _ step: Int, _ model: inout Model, _ service: NotificationsService, _ context: CallContext,
    _ source: inout SplitMix
  ) async throws {
    let known = model.notifications.keys.sorted()
    var some: [String] = []
    if !known.isEmpty { for _ in 0..<3 { some.append(known[source.below(known.count)]) } }
    let target = model.buckets.isEmpty ? nil : model.buckets[source.below(model.buckets.count)]
    switch (source.below(16), target) {
    case (0, _), (_, nil): model.buckets.append(try await service.makeBucket("bucket \(step)", context).id)
    case (1...4, let target?):
      let made = try await service.make("n \(step)", in: target, context)
      model.notifications[made.id] = made
    case (5, let target?):
      let request = BatchCreateNotificationsRequest(
        requests: (0..<4).map { notification("batch \($0)", in: $0 == 2 ? "b_none" : target) })
      for result in try await service.batchCreateNotifications(request, context: context).results {
        if case .notification(let made)? = result.outcome { model.notifications[made.id] = made }
      }
    case (6...8, _) where !some.isEmpty:
      let isRead = source.below(3) > 0
      try await service.mark(some, isRead: isRead, context)
      for id in some {
        let get = GetNotificationRequest(notificationId: id)
        model.notifications[id] = try await service.getNotification(get, context: context).notification
        #expect((model.notifications[id]?.readTime != nil) == isRead)
      }
    case (9, let target?) where !some.isEmpty:
      let change = Notification(id: some[0], bucketId: target, title: "moved \(step)")
      let request = UpdateNotificationRequest(notification: change)
      let moved = try #require(try await service.updateNotification(request, context: context).notification)
      #expect(moved.bucketId == target && moved.title == change.title)
      model.notifications[moved.id] = moved
    case (10, _) where !some.isEmpty:
      let count = try await service.batchDeleteNotifications(.init(notificationIds: some), context: context)
        .deletedCount
      #expect(Int(count) == Set(some).count)
      for id in some { model.notifications[id] = nil }
      model.deleted += some
    case (12, _):
      // Ids are ASCII, so this is after all of them.
      var request = MarkAllNotificationsReadRequest(throughNotificationId: "~")
      if let target, source.below(2) == 0 { request.bucketId = target }
      let concerned = model.notifications.values.filter { one in
        one.readTime == nil && (request.bucketId.isEmpty || one.bucketId == request.bucketId)
      }
      let count = try await service.markAllNotificationsRead(request, context: context).changedCount
      #expect(Int(count) == concerned.count)
      try await refresh(concerned.map(\.id), &model, service, context)
    case (13, _) where !model.deleted.isEmpty:
      let request = UndeleteNotificationsRequest(notificationIds: model.deleted.suffix(3))
      _ = try await service.undeleteNotifications(request, context: context)
      try await refresh(request.notificationIds, &model, service, context)
      model.deleted.removeLast(request.notificationIds.count)
    case (14, let target?) where source.below(3) == 0:
      _ = try await service.deleteBucket(.init(bucketId: target), context: context)
      _ = try await service.undeleteBucket(.init(bucketId: target), context: context)
      try await refresh(
        model.notifications.values.filter { $0.bucketId == target }.map(\.id), &model, service, context)
    case (15, _) where !some.isEmpty:
      let createMs = model.notifications[some[0]]?.createTime?.millisecondsSince1970 ?? 0
      // Later than the end of the test.
      let request = PostponeNotificationRequest(
        notificationId: some[0], releaseTime: ProtoTimestamp(millisecondsSince1970: createMs + 60_000))
      model.notifications[some[0]] = try await service.postponeNotification(request, context: context).notification
    case (11, let target?) where source.below(4) == 0:
      let count = try await service.deleteBucket(.init(bucketId: target), context: context).deletedNotificationCount
      #expect(Int(count) == model.notifications.values.count { $0.bucketId == target })
      model.buckets.removeAll { $0 == target }
      model.notifications = model.notifications.filter { $0.value.bucketId != target }
    default: break
    }
  }

  /// Copies the current state of notifications into the model; skips those that do not exist.
  private static func refresh(
    _ ids: [String], _ model: inout Model, _ service: NotificationsService, _ context: CallContext
  ) async throws {
    for id in ids {
      let get = GetNotificationRequest(notificationId: id)
      do {
        model.notifications[id] = try await service.getNotification(get, context: context).notification
      } catch let error as RPCError where error.code == .notFound {}
    }
  }

  private func check(
    _ component: NotificationsComponent, _ name: String, _ model: Model, _ note: String
  ) async throws {
    let context = user(name)
    let expected = model.notifications.values.sorted { $0.id > $1.id }
    #expect(try await component.service.all(context) == expected, "\(note)")
    let unread = expected.filter { $0.readTime == nil }
    #expect(try await component.service.all(context) { $0.unreadOnly = true } == unread, "\(note)")
    let counts = try await component.service.getUnreadCounts(GetUnreadCountsRequest(), context: context).unreadCounts
    #expect(counts?.total == Int32(unread.count), "\(note)")
    #expect(counts?.byBucket == model.unread, "\(note)")
    for id in model.buckets {
      let bucket = try await component.service.getBucket(.init(bucketId: id), context: context).bucket
      let own = expected.filter { $0.bucketId == id }
      #expect(bucket?.notificationCount == Int32(own.count), "\(note)")
      #expect(bucket?.unreadCount == model.unread[id] ?? 0, "\(note)")
      #expect(try await component.service.all(context) { $0.bucketId = id } == own, "\(note)")
      let watched = try await replay(component, name, watching: id)
      #expect(watched == Dictionary(uniqueKeysWithValues: own.map { ($0.id, $0) }), "\(note)")
    }
    #expect(try await replay(component, name, watching: nil) == model.notifications, "\(note)")
    try recount(component, name, note)
  }

  /// Replays the log from its beginning, like a watch.
  private func replay(
    _ component: NotificationsComponent, _ name: String, watching: String?
  ) async throws -> [String: Notification] {
    var state: [String: Notification] = [:]
    var position = try await component.service.repository.watchStart(resumeToken: "", bucketID: nil, user: name)
    position.sequence = 0
    while true {
      let changes = try await component.service.repository.changes(after: position, user: name, rowsMax: 50)
      guard let last = changes.last else { return state }
      for change in changes {
        switch change.message(watching: watching)?.change {
        case .notificationCreated(let one)?, .notificationUpdated(let one)?: state[one.id] = one
        case .notificationDeleted(let gone)?: state[gone.notificationId] = nil
        case .bucketDeleted(let gone)?: state = state.filter { $0.value.bucketId != gone.bucketId }
        default: break
        }
      }
      position.sequence = last.sequence
    }
  }

  /// Compares the stored counters with counted rows.
  private func recount(_ component: NotificationsComponent, _ name: String, _ note: String) throws {
    let kept = "SELECT notification_count, unread_count, bucket_count FROM users WHERE user_id = $1"
    let counted = """
      SELECT (SELECT count(*) FROM notifications WHERE user_id = $1),
        (SELECT count(*) FROM notifications WHERE user_id = $1 AND read_at_ms IS NULL),
        (SELECT count(*) FROM buckets WHERE user_id = $1 AND deleted_at_ms IS NULL)
      """
    var sums: [[Int64]] = []
    try component.store.readBlocking { transaction in
      for sql in [kept, counted] {
        let sum: [Int64]? = try transaction.queryOne(sql, [.text(name)]) { row in
          [try row.integer(0), try row.integer(1), try row.integer(2)]
        }
        sums.append(sum ?? [0, 0, 0])
      }
    }
    #expect(sums[0] == sums[1], "\(note)")
  }
}

struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
