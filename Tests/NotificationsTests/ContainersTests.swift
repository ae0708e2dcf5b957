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

  /// A caller with the scope of the service that stores files.
  private var operating: CallContext {
    CallContext(
      method: ContainersServiceMethods.listUsers,
      principal: Principal(kind: .service, id: "sync", scopes: ["notifications:operate"]))
  }

  private func users(_ response: WatchChangedUsersResponse?) -> [String]? {
    if case .change(let change)? = response?.event { change.userIds } else { nil }
  }

  @Test("listing the users and watching from the first page's token misses nobody") func listsAndWatchesUsers()
    async throws
  {
    let component = try await Fixture().open()
    let containers = component.containers
    _ = try await makeBucket(component, "One", anna)
    _ = try await makeBucket(component, "Two", bruno)
    let negative = await failure { try await containers.listUsers(.init(pageSize: -1), context: operating) }
    #expect(negative?.fieldViolations.map(\.field) == ["pageSize"])
    #expect(await failure { try await containers.listUsers(.init(), context: anna) }?.code == .permissionDenied)
    let first = try await containers.listUsers(.init(pageSize: 1), context: operating)
    #expect(first.userIds == ["anna"])
    _ = try await makeBucket(component, "Three", bruno)
    _ = try await makeBucket(component, "Four", user("Aaron"))
    let second = try await containers.listUsers(
      .init(pageSize: 1, pageToken: first.nextPageToken), context: operating)
    #expect(second.userIds == ["bruno"] && second.nextPageToken.isEmpty)
    #expect(try await containers.listUsers(.init(), context: operating).userIds == ["Aaron", "anna", "bruno"])
    var (iterator, task) = follow(component, first.resumeToken)
    let started = try #require(await iterator.next())
    #expect(users(started) == nil && started.resumeToken == first.resumeToken)
    #expect(users(await iterator.next()) == ["bruno", "Aaron"])
    task.cancel()
    (iterator, task) = follow(component, second.resumeToken)
    _ = await iterator.next()
    component.endWatches()
    #expect(await failure { try await task.value }?.code == .unavailable)
    await component.close()
  }

  @Test func watchStartsAtThePresentAndResumes() async throws {
    let component = try await Fixture().open()
    _ = try await makeBucket(component, "One", anna)
    var (iterator, task) = follow(component, "")
    let started = try #require(await iterator.next())
    guard case .started? = started.event else { Issue.record("\(started)"); return }
    _ = try await makeBucket(component, "Two", bruno)
    let changed = try #require(await iterator.next())
    #expect(users(changed) == ["bruno"])
    task.cancel()
    _ = try await makeBucket(component, "Three", user("carla"))
    for (token, expected) in [(changed.resumeToken, ["carla"]), (started.resumeToken, ["bruno", "carla"])] {
      (iterator, task) = follow(component, token)
      #expect(await iterator.next()?.resumeToken == token)
      #expect(users(await iterator.next()) == expected)
      task.cancel()
    }
    await component.close()
  }

  @Test func rejectsOldAndForeignTokens() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 2
    let fixture = try Fixture(retention: retention)
    let component = try await fixture.open()
    _ = try await makeBucket(component, "One", anna)
    let epoch = component.containers.epoch
    for number in 0..<5 { _ = try await makeBucket(component, "\(number)", bruno) }
    try await component.maintain(nowMs: fixture.clock.nowMs)
    for (token, reason) in [
      (ResumeToken(epoch: epoch, sequence: 1).text(user: "*"), "TOKEN_TOO_OLD"),
      (ResumeToken(epoch: epoch, sequence: 100).text(user: "*"), "TOKEN_TOO_OLD"),
      (ResumeToken(epoch: epoch &+ 1, sequence: 5).text(user: "*"), "TOKEN_TOO_OLD"),
      (ResumeToken(epoch: epoch, sequence: 5).text(user: "anna"), "RESUME_TOKEN_INVALID"),
      ("x", "RESUME_TOKEN_INVALID"),
    ] {
      let (_, task) = follow(component, token)
      #expect(await failure { try await task.value }?.reason == reason)
    }
    await component.close()
  }

  @Test(.onSQLite) func readsNewestFirstWithoutOrphans() async throws {
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
    let found = try await ContainerRows.read(user: "anna", notificationsMax: 10, component.store)
    #expect(found.buckets.map(\.name) == ["One"])
    #expect(found.notifications.map(\.title) == ["3", "1"])
    #expect(try await ContainerRows.read(user: "anna", notificationsMax: 1, component.store).notifications.count == 1)
    #expect(try await ContainerRows.read(user: "anna", notificationsMax: 0, component.store).notifications.isEmpty)
    #expect(try await ContainerRows.read(user: "nobody", notificationsMax: 10, component.store).buckets.isEmpty)
    for sql in [
      ContainerRows.bucketsSQL, ContainerRows.notificationsSQL, ContainersService.usersSQL,
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
