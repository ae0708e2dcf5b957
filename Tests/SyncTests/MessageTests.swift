import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Sync

/// Records calls, throws the errors set by the test, and returns the data set by the test.
final class FakeNotifications: NotificationsLinking {
  struct State {
    var calls: [String] = []
    /// Pages of user ids.
    var users: [[String]] = [[]]
    /// The token of a page that fails once.
    var interruptedPage: String?
    /// Responses of the next watch.
    var changes: [WatchChangedUsersResponse] = []
    var failures: [RPCError] = []
    var buckets: [Bucket] = []
    var notifications: [Notification] = []
    /// Whether a watch stays open until it is cancelled.
    var staysOpen = false
  }

  let state = Mutex(State())
  var calls: [String] { state.withLock { $0.calls } }
  func fail(_ errors: RPCError...) { state.withLock { $0.failures = errors } }

  private func note(_ call: String) throws {
    try state.withLock { state in
      if !state.failures.isEmpty { throw state.failures.removeFirst() }
      state.calls.append(call)
    }
  }

  func markRead(_ id: String, user: String) async throws { try note("read \(user) \(id)") }
  func delete(_ id: String, user: String) async throws { try note("delete \(user) \(id)") }
  func users(pageToken: String) async throws -> ListUsersResponse {
    try note("list \(pageToken)")
    let isInterrupted = state.withLock { state in
      defer { if state.interruptedPage == pageToken { state.interruptedPage = nil } }
      return state.interruptedPage == pageToken
    }
    if isInterrupted { throw RPCError(.unavailable, "away", reason: "AWAY") }
    let page = Int(pageToken) ?? 0
    return state.withLock { state in
      ListUsersResponse(
        userIds: state.users[page], nextPageToken: page + 1 < state.users.count ? "\(page + 1)" : "",
        resumeToken: "listed-\(page)")
    }
  }
  func changedUsers(
    since token: String, _ body: (WatchChangedUsersResponse) async throws -> Void
  ) async throws {
    try note("follow \(token)")
    for change in state.withLock({ $0.changes }) { try await body(change) }
    guard state.withLock({ $0.staysOpen }) else { return }
    do { try await Task.sleep(for: .seconds(600)) } catch {
      throw RPCError(.cancelled, "the call was cancelled", reason: "CANCELLED")
    }
  }
  func containers(user: String, notificationsMax: Int) async throws -> ([Bucket], [Notification]) {
    try note("read all of \(user)")
    return state.withLock { ($0.buckets, $0.notifications) }
  }
}

@Suite struct MessageTests {
  @Test func deliversEachMessageToOtherDevicesOnce() async throws {
    try await Fixture().run { component in
      try await component.register("pad", .writer)
      let first = try await component.publish(.notificationRead, "n_1", id: "m1")
      #expect(first.sequence == 1)
      let again = try await component.publish(.notificationRead, "n_1", id: "m1")
      #expect(again == first)
      #expect(
        await refusal { try await component.publish(.notificationRead, "n_2", id: "m1") }
          == "FAILED_PRECONDITION REQUEST_ID_REUSED")
      _ = try await component.publish(.bucketCreated, "b_1", from: "phone", id: "m1")
      #expect(try await component.updates("watch").map(\.sequence) == [2])
      #expect(try await component.updates("phone").map(\.sequence) == [1])
      #expect(try await component.updates("pad").map(\.sourceDeviceId) == ["watch", "phone"])
      #expect(try await component.updates("pad", after: 1).map(\.sequence) == [2])
      _ = try await component.devices.acknowledgeUpdates(.init(deviceId: "pad", throughSequence: 99), context: anna)
      #expect(try await component.updates("pad").isEmpty == true)
      // Messages published after an acknowledgement beyond the last sequence still arrive.
      _ = try await component.publish(.fullSync, id: "m2")
      #expect(try await component.updates("pad").map { $0.message?.type } == [.fullSync])
      // A device receives only messages published after its registration.
      try await component.register("new", .reader)
      #expect(try await component.updates("new").isEmpty == true)
    }
  }

  @Test func refusesMessages() async throws {
    try await Fixture().run { component in
      #expect(
        await refusal { try await component.publish(.notificationRead, "", id: "m") }
          == "INVALID_ARGUMENT REQUIRED")
      #expect(
        await refusal { try await component.publish(.unspecified, "n", id: "m") }
          == "INVALID_ARGUMENT ENUM_UNSPECIFIED")
      #expect(
        await refusal { try await component.publish(.init(rawValue: 77), "n", id: "m") }
          == "INVALID_ARGUMENT ENUM_UNKNOWN")
      #expect(
        await refusal { try await component.publish(.fullSync, id: "") } == "INVALID_ARGUMENT REQUIRED")
      #expect(
        await refusal { try await component.publish(.fullSync, from: "tv", id: "m") }
          == "NOT_FOUND DEVICE_NOT_FOUND")
      #expect(await refusal { try await component.updates("tv") } == "NOT_FOUND DEVICE_NOT_FOUND")
      #expect(await refusal { try await component.updates("phone", after: -1) } == "INVALID_ARGUMENT OUT_OF_RANGE")
    }
  }

  @Test func sendsFullSyncInPlaceOfDeletedMessages() async throws {
    var limits = SyncLimits()
    limits.messagesPerUserMax = 10
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      _ = try await component.publish(.notificationRead, "n_0", id: "0")
      fixture.clock.advance(by: .milliseconds(7 * Fixture.dayMs + 1))
      try await component.maintain(nowMs: fixture.clock.nowMs)
      let late = try await component.updates("phone")
      #expect(late.map { $0.message?.type } == [.fullSync])
      #expect(late.first?.sequence == 1)
      #expect(late.first?.message?.eventTime != nil)
      #expect(try await component.updates("phone", after: 1).isEmpty == true)
      for number in 1...12 { _ = try await component.publish(.notificationRead, "n", id: "\(number)") }
      let found = try await component.updates("phone", after: 1)
      #expect(found.first?.message?.type == .fullSync)
      #expect(found.map(\.sequence) == Array(3...13))
    }
  }

  private static func page(
    _ component: SyncComponent, _ device: String, after sequence: Int64, size: Int32 = 2
  ) async throws -> ListUpdatesResponse {
    try await component.devices.listUpdates(
      .init(deviceId: device, afterSequence: sequence, pageSize: size), context: anna)
  }

  @Test func pagesThroughWaitingMessages() async throws {
    try await Fixture().run { component in
      #expect(try await Self.page(component, "phone", after: 0) == ListUpdatesResponse())
      for number in 1...3 { _ = try await component.publish(.notificationRead, "n", id: "\(number)") }
      for number in 4...5 { _ = try await component.publish(.bucketUpdated, "b", from: "phone", id: "\(number)") }
      let first = try await Self.page(component, "phone", after: 0)
      #expect(first.updates.map(\.sequence) == [1, 2])
      #expect(first.sequence == 2 && first.hasMore)
      // Its own messages are left out, and the position is after them.
      let second = try await Self.page(component, "phone", after: first.sequence)
      #expect(second.updates.map(\.sequence) == [3])
      #expect(second.sequence == 5 && !second.hasMore)
      let exact = try await Self.page(component, "watch", after: 0)
      #expect(exact.updates.map(\.sequence) == [4, 5])
      #expect(exact.sequence == 5 && !exact.hasMore)
    }
  }

  @Test func sendsFullSyncForASequenceOfTheFuture() async throws {
    try await Fixture().run { component in
      _ = try await component.publish(.notificationRead, "n", id: "m1")
      let page = try await Self.page(component, "phone", after: 99)
      #expect(page.updates.map { $0.message?.type } == [.fullSync])
      #expect(page.updates.map(\.sequence) == [1])
      #expect(page.sequence == 1 && !page.hasMore)
      #expect(try await Self.page(component, "phone", after: page.sequence).updates.isEmpty)
    }
  }

  @Test func watchStartsWithItsPosition() async throws {
    try await Fixture().run { component in
      struct Enough: Error {}
      func watch(after sequence: Int64, count: Int) async throws -> [WatchUpdatesResponse] {
        var responses: [WatchUpdatesResponse] = []
        do {
          try await UpdateWatch(repository: component.repository, hub: component.devices.hub)
            .run(device: "phone", after: sequence, user: "anna") { response in
              responses.append(response)
              if responses.count == count + 1 { throw Enough() }
            }
        } catch is Enough {}
        return responses
      }
      for number in 1...3 { _ = try await component.publish(.notificationRead, "n", id: "\(number)") }
      let all = try await watch(after: 0, count: 3)
      #expect(all.map(\.sequence) == [0, 1, 2, 3])
      #expect(all.first?.event == .started(.init()))
      _ = try await component.devices.acknowledgeUpdates(.init(deviceId: "phone", throughSequence: 1), context: anna)
      #expect(try await watch(after: 0, count: 2).map(\.sequence) == [1, 2, 3])
      #expect(try await watch(after: 2, count: 1).map(\.sequence) == [2, 3])
      // A watch that ends before the FULL_SYNC can be resumed from its first message.
      let restored = try await watch(after: 99, count: 1)
      #expect(restored.map(\.sequence) == [99, 3])
      guard case .update(let update) = restored.last?.event else { throw Enough() }
      #expect(update.message?.type == .fullSync)
    }
  }

  @Test func pagesThroughDevices() async throws {
    try await Fixture().run { component in
      try await component.register("pad", .writer)
      func page(_ token: String = "", _ context: CallContext = anna) async throws -> ListSyncDevicesResponse {
        try await component.devices.listSyncDevices(.init(pageSize: 2, pageToken: token), context: context)
      }
      let first = try await page()
      #expect(first.devices.map(\.id) == ["pad", "phone"])
      let second = try await page(first.nextPageToken)
      #expect(second.devices.map(\.id) == ["watch"])
      #expect(second.nextPageToken == "")
      #expect(await refusal { try await page("x") } == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
      #expect(await refusal { try await page(first.nextPageToken, bruno) } == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
      _ = try await component.devices.unregisterDevice(.init(deviceId: "pad"), context: anna)
      #expect(
        await refusal { try await component.devices.unregisterDevice(.init(deviceId: "pad"), context: anna) }
          == "NOT_FOUND DEVICE_NOT_FOUND")
    }
  }

  @Test func appliesMessagesAboutNotifications() async throws {
    let link = FakeNotifications()
    try await Fixture().run(link: link) { component in
      let relay = try #require(component.relay)
      _ = try await component.publish(.notificationRead, "n_1", id: "1")
      _ = try await component.publish(.notificationRead, "n_1", id: "1")
      _ = try await component.publish(.bucketUpdated, "b_1", id: "2")
      _ = try await component.publish(.notificationDeleted, "n_2", id: "3")
      link.fail(RPCError(.unavailable, "away", reason: "AWAY"))
      #expect(try await relay.deliverDue().retried == 1)
      #expect(link.calls == [])
    }
  }

  @Test func appliesMessagesInOrderAndDropsRejectedOnes() async throws {
    let link = FakeNotifications()
    try await Fixture().run(link: link) { component in
      let relay = try #require(component.relay)
      _ = try await component.publish(.notificationRead, "n_0", id: "0")
      _ = try await component.publish(.notificationRead, "n_1", id: "1")
      _ = try await component.publish(.notificationDeleted, "n_2", from: "phone", id: "3")
      link.fail(RPCError(.invalidArgument, "no id", reason: "ID_INVALID"))
      let round = try await relay.deliverDue()
      #expect(round.deadLetters == 1)
      #expect(round.delivered == 2)
      #expect(link.calls == ["read anna n_1", "delete anna n_2"])
    }
  }

  /// Random devices, repeats and restarts: every device receives every message of the others once and in order.
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func deliversExactlyOnceAfterRepeatsAndRestarts(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let fixture = try Fixture()
    let names = ["phone", "watch", "pad"]
    var expected: [String: [String]] = [:]
    var got: [String: [String]] = [:]
    var positions: [String: Int64] = [:]
    var component = try await fixture.open()
    try await component.register("phone", .writer)
    try await component.register("watch", .reader)
    try await component.register("pad", .writer)
    for step in 0..<120 {
      let source = names[Int.random(in: 0..<3, using: &random)]
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          _ = try await component.publish(.notificationRead, "n_\(step)", from: source, id: "m\(step)")
        }
        for name in names where name != source { expected[name, default: []].append("n_\(step)") }
      case 4..<8:
        let updates = try await component.updates(source, after: positions[source] ?? 0)
        got[source, default: []] += updates.compactMap { $0.message?.entityId }
        if let last = updates.last { positions[source] = last.sequence }
      case 8:
        let through = positions[source] ?? 0
        _ = try await component.devices.acknowledgeUpdates(
          .init(deviceId: source, throughSequence: through), context: anna)
      default:
        await component.close()
        component = try await fixture.open()
      }
    }
    for name in names {
      let rest = try await component.updates(name, after: positions[name] ?? 0)
      got[name, default: []] += rest.compactMap { $0.message?.entityId }
      #expect(got[name] ?? [] == expected[name] ?? [])
    }
    await component.close()
  }
}
