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

@testable import Notifications

/// Records push requests, and fails as the test requests.
final class RecordingPusher: DevicePushing {
  struct State {
    var alerts: [SendAlertRequest] = []
    var summaries: [PutUnreadSummaryRequest] = []
    var failures: [RPCError] = []
    var devices = 1
    var knownSequence: Int64 = 0
  }

  let state = Mutex(State())

  var alerts: [SendAlertRequest] { state.withLock { $0.alerts } }
  var summaries: [PutUnreadSummaryRequest] { state.withLock { $0.summaries } }

  func fail(_ errors: RPCError...) { state.withLock { $0.failures = errors } }

  func put(_ summary: PutUnreadSummaryRequest) async throws -> PutUnreadSummaryResponse {
    try state.withLock { state in
      if !state.failures.isEmpty { throw state.failures.removeFirst() }
      let response = PutUnreadSummaryResponse(
        accepted: summary.sequence > state.knownSequence, knownSequence: max(state.knownSequence, summary.sequence))
      if response.accepted { state.summaries.append(summary) }
      state.knownSequence = response.knownSequence
      return response
    }
  }

  func send(_ alert: SendAlertRequest) async throws -> SendAlertResponse {
    try state.withLock { state in
      if !state.failures.isEmpty { throw state.failures.removeFirst() }
      var response = SendAlertResponse(
        repeatedAlert: state.alerts.contains { $0.alertId == alert.alertId && $0.userId == alert.userId })
      if !response.repeatedAlert {
        state.alerts.append(alert)
        response.apnsIds = (0..<state.devices).map { "id \($0)" }
      }
      return response
    }
  }
}

@Suite struct PushingTests {
  private static let away = RPCError(.unavailable, "away", reason: "CONNECT_FAILED")

  private func open(_ fixture: Fixture, _ pusher: RecordingPusher) async throws -> NotificationsComponent {
    try await NotificationsComponent(
      store: fixture.configuration, limits: fixture.limits, retention: fixture.retention, pusher: pusher,
      nowMs: { fixture.clock.nowMs })
  }

  private func drain(_ component: NotificationsComponent) async throws {
    while try await #require(component.alerts).step() > 0 {}
  }

  private func outcomes(_ id: String, _ component: NotificationsComponent) async throws -> [String] {
    try await component.service.explainDelivery(.init(notificationId: id), context: anna).records.map {
      "\($0.outcome) \($0.reason)"
    }
  }

  @Test func everyHandOverIsPushedOnce() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    var component = try await open(fixture, pusher)
    let box = try await component.service.makeBucket("Disks", anna)
    let normal = try await publish(in: box.id, component) {
      $0.subtitle = "s"
      $0.body = "b"
      $0.collapseKey = "k"
    }
    _ = try await publish(in: box.id, component) { $0.priority = .silent }
    _ = try await publish(in: box.id, component) { $0.priority = .critical }
    _ = try await publish(in: box.id, component) { $0.priority = .noPush }
    let read = try await component.service.make("read at once", in: box.id, anna)
    try await component.service.mark([read.id], isRead: true, anna)
    // Nothing is lost while the push service is down, nor if the process ends.
    pusher.fail(Self.away)
    await #expect(throws: RPCError.self) { try await component.alerts?.step() }
    await component.close()
    component = try await open(fixture, pusher)
    try await drain(component)
    let alerts = pusher.alerts.sorted { $0.alertId < $1.alertId }
    #expect(alerts.count == 3)
    let first = try #require(alerts.first)
    #expect(first.alertId == "\(normal.id):1" && first.userId == "anna" && first.notificationId == normal.id)
    #expect(first.alert?.title == "n" && first.alert?.body == "b" && first.subtitle == "s")
    #expect(first.interruptionLevel == .active && first.collapseId == "k" && first.threadId == box.id)
    #expect(first.dataJson == "{\"bucketId\":\"\(box.id)\",\"bucketName\":\"Disks\"}")
    #expect(first.badge == 4 && first.category == "DYNAMIC" && first.filterCriteria == box.id)
    #expect(alerts.allSatisfy(\.mutableContent) && first.relevanceScore == nil)
    #expect(first.alert?.sound == Sound(name: "default") && !first.contentAvailable)
    let silent = alerts.filter { $0.alert == nil }
    #expect(silent.map(\.badge) == [4] && silent.allSatisfy(\.contentAvailable))
    #expect(alerts.last?.alert?.sound == Sound(name: "default", critical: true, volume: 1))
    #expect(alerts.last?.interruptionLevel == .critical && alerts.last?.relevanceScore == 1)
    // Reading the same log again pushes nothing twice.
    try await component.store.write { try $0.execute("UPDATE change_cursors SET sequence = 0") }
    try await drain(component)
    #expect(pusher.alerts.count == 3)
    await component.close()
  }

  @Test func heldNotificationsArePushedOnRelease() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    let component = try await open(fixture, pusher)
    let box = try await component.service.makeBucket("b", anna)
    try await component.service.snooze(box.id, until: fixture.clock.time(afterMs: 3_600_000), anna)
    let held = try await component.service.make("held", in: box.id, anna)
    try await drain(component)
    #expect(pusher.alerts.isEmpty)
    fixture.clock.advance(by: .milliseconds(3_600_001))
    _ = try await component.timers.runDue()
    try await drain(component)
    #expect(pusher.alerts.map(\.notificationId) == [held.id])
    await component.close()
  }

  @Test func unreachableUsersAreRecorded() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    pusher.state.withLock { $0.devices = 0 }
    let component = try await open(fixture, pusher)
    let box = try await component.service.makeBucket("b", anna)
    let one = try await component.service.make("to nobody", in: box.id, anna)
    fixture.clock.advance(by: .seconds(1))
    try await drain(component)
    #expect(try await outcomes(one.id, component).last == "\(DeliveryOutcome.noToken) ")
    pusher.fail(RPCError(.invalidArgument, "too large", reason: "PAYLOAD_TOO_LARGE"))
    let refused = try await component.service.make("refused", in: box.id, anna)
    let next = try await component.service.make("next", in: box.id, anna)
    fixture.clock.advance(by: .seconds(1))
    try await drain(component)
    let told = try await outcomes(refused.id, component) + outcomes(next.id, component)
    #expect(told.contains("\(DeliveryOutcome.rejected) PAYLOAD_TOO_LARGE"))
    #expect(pusher.alerts.count == 2)
    await component.close()
  }

  @Test func unreachableUsersAreRecordedEvenIfBatchFails() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    pusher.state.withLock { $0.devices = 0 }
    let component = try await open(fixture, pusher)
    let box = try await component.service.makeBucket("b", anna)
    var ids: [String] = []
    for index in 0..<4 { ids.append(try await component.service.make("n\(index)", in: box.id, anna).id) }
    fixture.clock.advance(by: .seconds(1))
    pusher.fail(Self.away)
    await #expect(throws: RPCError.self) { try await component.alerts?.step() }
    try await drain(component)
    for id in ids { #expect(try await outcomes(id, component).last == "\(DeliveryOutcome.noToken) ") }
    #expect(pusher.alerts.count == 4)
    await component.close()
  }

  @Test func summaryOfRestoredStoreIsAccepted() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    let component = try await open(fixture, pusher)
    let summaries = try #require(component.summaries)
    let box = try await component.service.makeBucket("b", anna)
    pusher.state.withLock { $0.knownSequence = 1_000 }
    for count in 1...2 {
      _ = try await component.service.make("n\(count)", in: box.id, anna)
      while try await summaries.deliverDue().delivered > 0 {}
      #expect(pusher.summaries.last?.summary?.unreadCount == Int32(count))
      #expect(pusher.summaries.last?.sequence == Int64(1_000 + count))
    }
    await component.close()
  }

  @Test func summariesAreSentInTheirCurrentState() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    let component = try await open(fixture, pusher)
    let summaries = try #require(component.summaries)
    let box = try await component.service.makeBucket("b", anna)
    var ids: [String] = []
    for index in 0..<7 { ids.append(try await component.service.make("n\(index)", in: box.id, anna).id) }
    pusher.fail(Self.away)
    #expect(try await summaries.deliverDue().retried == 1)
    fixture.clock.advance(by: .seconds(3600))
    while try await summaries.deliverDue().delivered > 0 {}
    // Seven changes, combined in one summary.
    let first = try #require(pusher.summaries.first)
    #expect(pusher.summaries.count == 1 && first.userId == "anna" && first.summary?.unreadCount == 7)
    #expect(first.summary?.notifications.map(\.title) == ["n6", "n5", "n4", "n3", "n2"])
    try await component.service.mark(ids, isRead: true, anna)
    while try await summaries.deliverDue().delivered > 0 {}
    let last = try #require(pusher.summaries.last)
    #expect(pusher.summaries.count == 2 && last.summary?.unreadCount == 0 && last.sequence > first.sequence)
    await component.close()
  }
}
