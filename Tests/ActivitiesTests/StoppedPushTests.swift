import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Activities whose pushes are stopped, and local starts that the system carries out later.
@Suite struct StoppedPushTests {
  private static func set(_ component: ActivitiesComponent, _ isEnabled: Bool) async throws -> Activity {
    let request = SetActivityPushesRequest(activityId: "a", enabled: isEnabled)
    return try #require(try await component.activities.setActivityPushes(request, context: anna).activity)
  }

  @Test func stoppedStatesAreStoredAndPushedWhenContinued() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    _ = try await component.update("a", #"{"n":1}"#, anna)
    #expect(try await Self.set(component, false).pushesStopped)
    // The unsent state is gone, and later ones are not queued, with or without an alert.
    #expect(try component.queued().isEmpty)
    _ = try await component.update("a", #"{"n":2}"#, anna)
    var alerting = try update("a", #"{"n":3}"#)
    alerting.alert = alert()
    _ = try await component.activities.updateActivity(alerting, context: anna)
    #expect(try component.queued().isEmpty)
    #expect(try await component.get("a", anna).contentStateJson == #"{"n":3}"#)
    let again = try await Self.set(component, false)
    #expect(try await Self.set(component, false) == again)
    #expect(try await !Self.set(component, true).pushesStopped)
    let sent = try await component.sendAll()
    #expect(sent.map(\.kind) == [.update] && sent[0].payload.contains(#"{"n":3}"#))
    // Continuing what was not stopped pushes nothing.
    _ = try await Self.set(component, true)
    #expect(try component.queued().isEmpty)
    await component.close()
  }

  @Test func endOfAStoppedActivityIsPushed() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    _ = try await Self.set(component, false)
    // Nor is a state pushed to another device.
    _ = try await component.update("a", #"{"n":2}"#, anna)
    try await component.register(token(.activityUpdate, hex(2), activity: "a", installation: "pad"), anna)
    #expect(try component.queued().isEmpty)
    _ = try await component.end("a", anna)
    #expect(try component.queued().map(\.kind) == [.end, .end])
    let ended = await failure { try await Self.set(component, true) }
    #expect(ended?.reason == "ACTIVITY_ENDED")
    await component.close()
  }

  @Test func stoppedActivityDoesNotRenew() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    try await component.register(token(.pushToStart, hex(1)), anna)
    var request = try remote("a")
    request.renews = true
    _ = try await component.start(request, anna)
    _ = try await Self.set(component, false)
    _ = try await component.sendAll()
    fixture.clock.advance(by: .milliseconds(8 * 3_600_000))
    try await component.runDueTimers()
    #expect(try await component.get("a", anna).endReason == .expired)
    #expect(try component.queued().allSatisfy { $0.kind != .start })
    await component.close()
  }

  @Test(
    "a scheduled local start is pending until its time, and then gets a newer state (iOS 26: ActivityState.pending)")
  func scheduledLocalStartIsPending() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    for id in ["a", "b"] {
      var request = try local(id)
      request.startTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000)
      #expect(try await component.start(request, anna).status == .pending)
      try await component.register(token(.activityUpdate, hex(id == "a" ? 1 : 2), activity: id), anna)
    }
    _ = try await component.update("a", #"{"n":5}"#, anna)
    try await component.runDueTimers()
    #expect(try component.queued().isEmpty)
    fixture.clock.advance(by: .seconds(60))
    try await component.runDueTimers()
    // The app's own state needs no push.
    let sent = try await component.sendAll()
    #expect(sent.map(\.kind) == [.update] && sent[0].payload.contains(#"{"n":5}"#))
    let started = try await component.get("b", anna)
    #expect(started.status == .active)
    #expect(started.expireTime?.millisecondsSince1970 == Fixture.startMs + 60_000 + 8 * 3_600_000)
    _ = try await component.update("b", #"{"n":6}"#, anna)
    #expect(try component.queued().map(\.kind) == [.update])
    await component.close()
  }

  @Test func pendingStartIsCancelled() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    var request = try local("a")
    request.startTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000)
    _ = try await component.start(request, anna)
    #expect(try await component.end("a", anna).endReason == .cancelled)
    fixture.clock.advance(by: .seconds(120))
    try await component.runDueTimers()
    #expect(try await component.get("a", anna).status == .ended)
    #expect(try component.queued().isEmpty)
    await component.close()
  }
}
