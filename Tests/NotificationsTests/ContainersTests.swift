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

@Suite struct ContainersTests {
  private func watch(_ component: NotificationsComponent) -> ChangedUsersWatch {
    ChangedUsersWatch(
      store: component.store, epoch: component.containers.epoch, hub: component.containers.hub)
  }

  /// Follows from a token and passes on each response.
  private func follow(
    _ component: NotificationsComponent, _ token: String
  ) -> (AsyncStream<WatchChangedUsersResponse>.Iterator, Task<Void, any Error>) {
    let (stream, continuation) = AsyncStream.makeStream(of: WatchChangedUsersResponse.self)
    let watch = watch(component)
    let task = Task { try await watch.run(resumeToken: token) { continuation.yield($0) } }
    return (stream.makeAsyncIterator(), task)
  }

  private func makeBucket(_ component: NotificationsComponent, _ name: String, _ context: CallContext) async throws
    -> Bucket
  {
    try #require(try await component.service.createBucket(.init(bucket: Bucket(name: name)), context: context).bucket)
  }

  @Test func sendsAllUsersThenChangedOnes() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await makeBucket(component, "One", anna)
    _ = try await makeBucket(component, "Two", bruno)
    var (iterator, task) = follow(component, "")
    let everybody = await iterator.next()
    #expect(everybody?.userIds == ["anna", "bruno"])
    #expect(everybody?.resumeToken.isEmpty == true)
    let reached = try #require(await iterator.next())
    #expect(reached.userIds.isEmpty)
    _ = try await makeBucket(component, "Three", bruno)
    let changed = try #require(await iterator.next())
    #expect(changed.userIds == ["bruno"])
    task.cancel()
    _ = try await makeBucket(component, "Four", user("carla"))
    (iterator, task) = follow(component, changed.resumeToken)
    #expect(await iterator.next()?.userIds == ["carla"])
    task.cancel()
    (iterator, task) = follow(component, reached.resumeToken)
    #expect(await iterator.next()?.userIds == ["bruno", "carla"])
    component.endWatches()
    #expect(await failure { try await task.value }?.code == .unavailable)
    await component.close()
  }

  @Test func restartsBehindLogAndRejectsForeignTokens() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 2
    let fixture = try Fixture(retention: retention)
    let component = try await fixture.open()
    _ = try await makeBucket(component, "One", anna)
    let old = ResumeToken(epoch: component.containers.epoch, sequence: 1).text(user: "*")
    for number in 0..<5 { _ = try await makeBucket(component, "\(number)", bruno) }
    try await component.maintain(nowMs: fixture.clock.nowMs)
    var (iterator, task) = follow(component, old)
    let first = await iterator.next()
    #expect(first?.userIds == ["anna", "bruno"])
    #expect(first?.resumeToken.isEmpty == true)
    task.cancel()
    let foreign = ResumeToken(epoch: component.containers.epoch, sequence: 1).text(user: "anna")
    (iterator, task) = follow(component, foreign)
    #expect(await failure { try await task.value }?.reason == "RESUME_TOKEN_INVALID")
    await component.close()
  }

  @Test func readsNewestFirstWithoutOrphans() async throws {
    let component = try await Fixture().open()
    let bucket = try await makeBucket(component, "One", anna)
    let orphans = try #require(
      try await component.service.createBucket(
        .init(bucket: Bucket(name: "Orphans", isOrphan: true)), context: anna
      ).bucket)
    for (number, id) in [(1, bucket.id), (2, orphans.id), (3, bucket.id)] {
      _ = try await component.service.createNotification(
        .init(notification: Notification(bucketId: id, title: "\(number)")), context: anna)
    }
    let found = try ContainerRows.read(user: "anna", notificationsMax: 10, component.store)
    #expect(found.buckets.map(\.name) == ["One"])
    #expect(found.notifications.map(\.title) == ["3", "1"])
    #expect(try ContainerRows.read(user: "anna", notificationsMax: 1, component.store).notifications.count == 1)
    #expect(try ContainerRows.read(user: "anna", notificationsMax: 0, component.store).notifications.isEmpty)
    #expect(try ContainerRows.read(user: "nobody", notificationsMax: 10, component.store).buckets.isEmpty)
    for sql in [
      ContainerRows.bucketsSQL, ContainerRows.notificationsSQL, ChangedUsersWatch.usersSQL,
      ChangedUsersWatch.changesSQL,
    ] {
      #expect(try component.store.fullScans(sql) == [])
    }
    await component.close()
  }

  @Test("the scope operate is never implied: without it, a service reads no containers and records no deliveries")
  func operateIsNotImplied() async throws {
    let component = try await Fixture().open()
    func context(_ method: MethodDescriptor, _ scopes: [String], kind: Principal.Kind = .service) -> CallContext {
      CallContext(method: method, principal: Principal(kind: kind, id: "ci", scopes: scopes))
    }
    func record(_ scopes: [String]) async -> RPCError? {
      await failure {
        try await component.delivery.recordDeliveries(
          .init(), context: context(DeliveryServiceMethods.recordDeliveries, scopes))
      }
    }
    let read = ContainersServiceMethods.readContainers
    for scopes in [[], ["notifications:write", "notifications:read"], ["activities:operate"], ["sync"]] {
      #expect(throws: RPCError.self) { try context(read, scopes).requireOperator() }
      let error = await record(scopes)
      #expect(error?.code == .permissionDenied && error?.reason == "SCOPE_MISSING")
    }
    for scopes in [["notifications:operate"], ["sync:read", "notifications"], ["admin"]] {
      try context(read, scopes).requireOperator()
      #expect(await record(scopes)?.code == .invalidArgument)
    }
    // A user's key with the scope does not suffice.
    #expect(throws: RPCError.self) { try context(read, ["notifications:operate"], kind: .user).requireOperator() }
    await component.close()
  }
}
