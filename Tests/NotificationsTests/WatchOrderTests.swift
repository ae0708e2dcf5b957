import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite(.timeLimit(.minutes(2))) struct WatchOrderTests {
  private struct Enough: Error {}

  /// Collects messages until `isEnough` returns true, and returns them.
  private func collect(
    _ component: NotificationsComponent, _ name: String, from token: String, bucketID: String = "",
    until isEnough: @escaping @Sendable ([WatchNotificationsResponse]) async throws -> Bool
  ) async throws -> [WatchNotificationsResponse] {
    let request = WatchNotificationsRequest(resumeToken: token, bucketId: bucketID)
    var seen: [WatchNotificationsResponse] = []
    do {
      try await component.service.watch.run(request, user: name) { next in
        guard let message = try next() else { return false }
        seen.append(message)
        if try await isEnough(seen) { throw Enough() }
        return true
      }
    } catch is Enough {}
    return seen
  }

  /// Four writers, a watch that disconnects and resumes every few events, and restarts of the service in between. The
  /// events equal the log, in order and without duplicates.
  @Test func losesAndRepeatsNothingAcrossReconnectsAndRestarts() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    var token = try await collect(component, "anna", from: "") { _ in true }[0].resumeToken
    let box = try await component.service.makeBucket("b", anna)
    let foreign = try await component.service.makeBucket("b", bruno)
    var told: [String] = []
    var made: Set<String> = []
    for round in 0..<4 {
      let service = component.service
      let live = component
      async let writing = withThrowingTaskGroup(of: [String].self) { group in
        for writer in 0..<4 {
          group.addTask {
            var ids: [String] = []
            for index in 0..<25 {
              let name = "\(round)-\(writer)-\(index)"
              ids.append(try await service.make(name, in: box.id, anna).id)
              if index % 5 == 0 { _ = try await service.make(name, in: foreign.id, bruno) }
            }
            return ids
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      let goal = (round + 1) * 100
      while told.count < goal {
        let part = (told.count % 7) + 2
        let left = goal - told.count
        let messages = try await collect(live, "anna", from: token) { seen in
          seen.count >= part || seen.count > left
        }
        guard case .started? = messages.first?.event, messages[0].resumeToken == token else {
          Issue.record("no start at the token"); return
        }
        for message in messages.dropFirst() {
          token = message.resumeToken
          if case .notificationCreated(let one)? = message.change { told.append(one.id) }
        }
      }
      made.formUnion(try await writing)
      await component.close()
      // Ids ascend within one run of the service; across a restart they follow the clock.
      fixture.clock.advance(by: .milliseconds(1))
      component = try await fixture.open()
    }
    #expect(told.count == made.count && Set(told) == made)
    // Ids are assigned in commit order.
    let isAscending = told == told.sorted()
    #expect(isAscending)
    await component.close()
  }

  @Test func moveIsADeletionInTheFormerBucket() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let context = anna
    let a = try await service.makeBucket("a", context)
    let b = try await service.makeBucket("b", context)
    let one = try await service.make("one", in: a.id, context)
    let start = try await service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna").text(user: "anna")
    var request = UpdateNotificationRequest(notification: one)
    request.notification?.etag = ""
    request.notification?.bucketId = b.id
    let moved = try await service.updateNotification(request, context: context).notification
    let left = try await collect(component, "anna", from: start, bucketID: a.id) { $0.count == 2 }
    guard case .notificationDeleted(let gone)? = left.last?.change else { Issue.record("\(left)"); return }
    #expect(gone.notificationId == one.id && gone.bucketId == a.id)
    for bucketID in [b.id, ""] {
      let entered = try await collect(component, "anna", from: start, bucketID: bucketID) { $0.count == 2 }
      #expect(entered.last?.change == moved.map { .notificationUpdated($0) })
    }
    await component.close()
  }

  @Test func watchOfABucketEndsWithItsDeletion() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let context = anna
    let a = try await service.makeBucket("a", context)
    let start = try await service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna").text(user: "anna")
    let live = try await collect(component, "anna", from: start, bucketID: a.id) { seen in
      if seen.count == 1 { _ = try await service.deleteBucket(.init(bucketId: a.id), context: context) }
      return false
    }
    // The event also reaches a watch that was disconnected, but not one that already received it.
    let late = try await collect(component, "anna", from: start, bucketID: a.id) { _ in false }
    #expect(live.count == 2 && late.count == 2 && live.last == late.last)
    guard case .bucketDeleted(let gone)? = late.last?.change else { Issue.record("\(late)"); return }
    #expect(gone.bucketId == a.id)
    let token = late.last?.resumeToken ?? ""
    let after = await failure { try await collect(component, "anna", from: token, bucketID: a.id) { _ in false } }
    #expect(after?.code == .notFound && after?.fieldViolations.map(\.field) == ["bucketId"])
    await component.close()
  }

  /// A caller that does not receive delays no writer, and only one page is held for it.
  @Test func slowWatchDelaysNoWriter() async throws {
    var limits = NotificationsLimits()
    limits.watchPageRows = 3
    let component = try await Fixture(limits).open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let messages = try await collect(component, "anna", from: "") { seen in
      if seen.count == 1 {
        // Meanwhile, the watch is blocked in its first `send`.
        for index in 0..<50 { _ = try await service.make("\(index)", in: box.id, anna) }
      }
      return seen.count == 51
    }
    let titles = messages.dropFirst().map { message in
      if case .notificationCreated(let one)? = message.change { one.title } else { "" }
    }
    #expect(titles == (0..<50).map(String.init))
    await component.close()
  }

  @Test func watchBehindTruncatedLogEnds() async throws {
    var limits = NotificationsLimits()
    limits.watchPageRows = 2
    var retention = ChangeRetention()
    retention.rowsMax = 3
    let component = try await Fixture(limits, retention: retention).open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let error = await failure {
      try await collect(component, "anna", from: "") { seen in
        if seen.count == 1 {
          for index in 0..<20 { _ = try await service.make("\(index)", in: box.id, anna) }
          _ = try await component.maintain(nowMs: 0)
        }
        return false
      }
    }
    #expect(error?.code == .outOfRange && error?.reason == "TOKEN_TOO_OLD")
    #expect(component.watchCount == 0)
    await component.close()
  }
}
