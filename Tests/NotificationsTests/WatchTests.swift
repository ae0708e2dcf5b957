import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Notifications

@Suite(.timeLimit(.minutes(1))) struct WatchTests {
  /// Watches until `count` messages have arrived, and returns them.
  private func watch(
    _ component: NotificationsComponent, _ name: String, from token: String = "", bucketID: String = "", count: Int,
    started: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> [WatchNotificationsResponse] {
    struct Enough: Error {}
    let seen = Mutex<[WatchNotificationsResponse]>([])
    let request = WatchNotificationsRequest(resumeToken: token, bucketId: bucketID)
    do {
      try await component.service.watch.run(request, user: name) { next in
        guard let message = try next() else { return false }
        let total = seen.withLock { seen in
          seen.append(message)
          return seen.count
        }
        if total == 1 { try await started() }
        if total == count { throw Enough() }
        return true
      }
    } catch is Enough {}
    return seen.withLock { $0 }
  }

  private func title(_ message: WatchNotificationsResponse) -> String {
    if case .notificationCreated(let one)? = message.change { one.title } else { "" }
  }

  @Test func sendsChangesAndResumesWithoutLossOrRepetition() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let live = component
    let first = try await watch(component, "anna", count: 4) {
      for index in 0..<3 { _ = try await live.service.make("n\(index)", in: box.id, anna) }
    }
    guard case .started? = first[0].event else { Issue.record("no start"); return }
    #expect(first.dropFirst().map(title) == ["n0", "n1", "n2"])
    await component.close()
    component = try await fixture.open()
    for index in 3..<6 { _ = try await component.service.make("n\(index)", in: box.id, anna) }
    let second = try await watch(component, "anna", from: first[2].resumeToken, count: 5)
    #expect(second.dropFirst().map(title) == ["n2", "n3", "n4", "n5"])
    await component.close()
  }

  @Test func sendsNothingOfOtherUsersOrBuckets() async throws {
    let component = try await Fixture().open()
    let mine = try await component.service.makeBucket("mine", anna)
    let other = try await component.service.makeBucket("other", anna)
    let foreign = try await component.service.makeBucket("foreign", bruno)
    let seen = try await watch(component, "anna", bucketID: mine.id, count: 2) {
      _ = try await component.service.make("foreign", in: foreign.id, bruno)
      _ = try await component.service.make("other", in: other.id, anna)
      _ = try await component.service.make("mine", in: mine.id, anna)
    }
    #expect(seen.dropFirst().map(title) == ["mine"])
    await component.close()
  }

  @Test func rejectsOldAndInvalidTokens() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 10
    let fixture = try Fixture(retention: retention)
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let start = try await watch(component, "anna", count: 1)[0].resumeToken
    for index in 0..<40 { _ = try await component.service.make("n\(index)", in: box.id, anna) }
    #expect(try await component.maintain(nowMs: fixture.clock.nowMs) > 0)
    let old = await failure { try await watch(component, "anna", from: start, count: 1) }
    #expect(old?.code == .outOfRange && old?.reason == "TOKEN_TOO_OLD")
    for bad in ["x", "w1.a.b.c", String(start.reversed()), start + "A", String(start.dropLast()), "é"] {
      let error = await failure { try await watch(component, "anna", from: bad, count: 1) }
      #expect(error?.reason == "RESUME_TOKEN_INVALID", "\(bad)")
    }
    let stolen = await failure { try await watch(component, "bruno", from: start, count: 1) }
    #expect(stolen?.reason == "RESUME_TOKEN_INVALID")
    await component.close()
  }

  @Test func endsWhenServiceStops() async throws {
    let component = try await Fixture().open()
    let error = await failure {
      try await watch(component, "anna", count: 2) { component.endWatches() }
    }
    #expect(error?.code == .unavailable)
    #expect(component.watchCount == 0)
    await component.close()
  }

  @Test func cancelledWatchEnds() async throws {
    let component = try await Fixture().open()
    let task = Task { try await watch(component, "anna", count: 2) }
    while component.watchCount == 0 { await Task.yield() }
    task.cancel()
    _ = await task.result
    #expect(component.watchCount == 0)
    await component.close()
  }
}
