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
  func changedUsers(
    since token: String, _ body: (WatchChangedUsersResponse) async throws -> Void
  ) async throws {
    try note("follow \(token)")
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
      let first = try await component.publish(.notificationRead, "n_1", mutation: "m1")
      #expect(first.sequence == 1)
      let again = try await component.publish(.notificationRead, "n_1", mutation: "m1")
      #expect(again.sequence == 1)
      #expect(again.repeatedMutation)
      #expect(
        await refusal { try await component.publish(.notificationRead, "n_2", mutation: "m1") }
          == "FAILED_PRECONDITION MUTATION_ID_REUSED")
      _ = try await component.publish(.bucketCreated, "b_1", from: "phone", mutation: "m1")
      #expect(try await component.updates("watch").map(\.sequence) == [2])
      #expect(try await component.updates("phone").map(\.sequence) == [1])
      #expect(try await component.updates("pad").map(\.sourceDeviceId) == ["watch", "phone"])
      #expect(try await component.updates("pad", after: 1).map(\.sequence) == [2])
      _ = try await component.devices.acknowledgeUpdates(.init(deviceId: "pad", throughSequence: 99), context: anna)
      #expect(try await component.updates("pad").isEmpty == true)
      // Messages published after an acknowledgement beyond the last sequence still arrive.
      _ = try await component.publish(.fullSync, mutation: "m2")
      #expect(try await component.updates("pad").map { $0.message?.type } == [.fullSync])
      // A device receives only messages published after its registration.
      try await component.register("new", .reader)
      #expect(try await component.updates("new").isEmpty == true)
    }
  }

  @Test func refusesMessages() async throws {
    try await Fixture().run { component in
      #expect(
        await refusal { try await component.publish(.notificationRead, "", mutation: "m") }
          == "INVALID_ARGUMENT REQUIRED")
      #expect(
        await refusal { try await component.publish(.unspecified, "n", mutation: "m") }
          == "INVALID_ARGUMENT ENUM_UNSPECIFIED")
      #expect(
        await refusal { try await component.publish(.init(rawValue: 77), "n", mutation: "m") }
          == "INVALID_ARGUMENT ENUM_UNKNOWN")
      #expect(
        await refusal { try await component.publish(.fullSync, mutation: "") } == "INVALID_ARGUMENT REQUIRED")
      #expect(
        await refusal { try await component.publish(.fullSync, from: "tv", mutation: "m") }
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
      _ = try await component.publish(.notificationRead, "n_0", mutation: "0")
      fixture.clock.advance(ms: 7 * Fixture.dayMs + 1)
      try await component.maintain(nowMs: fixture.clock.nowMs)
      let late = try await component.updates("phone")
      #expect(late.map { $0.message?.type } == [.fullSync])
      #expect(late.first?.sequence == 1)
      #expect(late.first?.message?.timestamp != nil)
      #expect(try await component.updates("phone", after: 1).isEmpty == true)
      for number in 1...12 { _ = try await component.publish(.notificationRead, "n", mutation: "\(number)") }
      let found = try await component.updates("phone", after: 1)
      #expect(found.first?.message?.type == .fullSync)
      #expect(found.map(\.sequence) == Array(3...13))
    }
  }

  @Test func appliesMessagesAboutNotifications() async throws {
    let link = FakeNotifications()
    try await Fixture().run(link: link) { component in
      let relay = try #require(component.relay)
      _ = try await component.publish(.notificationRead, "n_1", mutation: "1")
      _ = try await component.publish(.notificationRead, "n_1", mutation: "1")
      _ = try await component.publish(.bucketUpdated, "b_1", mutation: "2")
      _ = try await component.publish(.notificationDeleted, "n_2", mutation: "3")
      link.fail(RPCError(.unavailable, "away", reason: "AWAY"))
      #expect(try await relay.deliverDue().retried == 1)
      #expect(link.calls == [])
    }
  }

  @Test func appliesMessagesInOrderAndDropsRejectedOnes() async throws {
    let link = FakeNotifications()
    try await Fixture().run(link: link) { component in
      let relay = try #require(component.relay)
      _ = try await component.publish(.notificationRead, "n_0", mutation: "0")
      _ = try await component.publish(.notificationRead, "n_1", mutation: "1")
      _ = try await component.publish(.notificationDeleted, "n_2", from: "phone", mutation: "3")
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
    var random = SeededGenerator(seed: seed)
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
        let mutation = "m\(step)"
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          _ = try await component.publish(.notificationRead, "n_\(step)", from: source, mutation: mutation)
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

/// A deterministic generator: the same seed gives the same numbers.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
