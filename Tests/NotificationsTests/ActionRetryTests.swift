import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// Blocks every request until its task is cancelled.
private struct HangingSender: HTTPActionSending {
  let durationMsMax: Int64 = 25_000

  func send(_ request: HTTPActionRequest, of user: String) async -> HTTPActionResult {
    try? await Task.sleep(for: .seconds(3_600))
    return .failure(.timeout, "the server did not respond in time")
  }
}

@Suite struct ActionRetryTests {
  private func open(_ fixture: Fixture, _ sender: any HTTPActionSending) async throws -> NotificationsComponent {
    try await NotificationsComponent(
      store: fixture.configuration, limits: fixture.limits, retention: fixture.retention, sender: sender,
      nowMs: { fixture.clock.nowMs }, random: { 0 })
  }

  /// Publishes a notification whose first action is a call, and returns the request that invokes it.
  private func called(_ component: NotificationsComponent, in box: Bucket) async throws -> InvokeActionRequest {
    var request = notification("n", in: box.id)
    let call = Action(type: .backgroundCall, value: "POST::https://example.org/hook", title: "do")
    request.notification?.actions = [call]
    return InvokeActionRequest(
      notificationId: try await component.service.createNotification(request, context: anna).notification?.id ?? "",
      actionId: "0")
  }

  @Test("an attempt whose receiver does not respond delays no other timer")
  func attemptsRunConcurrentlyWithTimers() async throws {
    let fixture = try Fixture()
    let component = try await open(fixture, HangingSender())
    let box = try await component.service.makeBucket("b", anna)
    let invoke = try await called(component, in: box)
    let context = anna
    let call = Task { try await component.service.invokeAction(invoke, context: context) }
    while try await component.timers.repository.nextTimerMs() == nil { try await Task.sleep(for: .milliseconds(1)) }
    var later = notification("later", in: box.id)
    later.notification?.deliverTime = ProtoTimestamp(
      millisecondsSince1970: fixture.clock.nowMs + 300_000)
    _ = try await component.service.createNotification(later, context: anna)
    // Both timers are due, the attempt's first.
    fixture.clock.advance(by: .seconds(600))
    let timers = Task { await component.runTimers() }
    for _ in 0..<2_000 where try await component.service.all(anna).count < 2 {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(try await component.service.all(anna).map(\.title).contains("later"))
    timers.cancel()
    call.cancel()
    await timers.value
    _ = try? await call.value
    await component.close()
  }

  @Test func attemptInProgressIsNotRepeated() async throws {
    let fixture = try Fixture()
    let failing = HTTPActionResult.response(status: 503, retryAfter: nil, nowMs: 0)
    let component = try await open(fixture, ScriptedSender([failing]))
    let box = try await component.service.makeBucket("b", anna)
    let run = try #require(
      try await component.service.invokeAction(called(component, in: box), context: anna).run)
    fixture.clock.advance(by: .seconds(600))
    var attempts: [CampanileService.DueTimer<NotificationTimerKind>] = []
    #expect(try await component.timers.runDue { attempts.append($0) } == 1)
    #expect(attempts.map(\.subject) == [run.id])
    #expect(try await component.timers.runDue { attempts.append($0) } == 0)
    // The process ends before the attempt, which is repeated once it counts as lost.
    fixture.clock.advance(by: .milliseconds(component.timers.actions.attemptLostAfterMs))
    #expect(try await component.timers.runDue { attempts.append($0) } == 1)
    await component.close()
  }

  @Test("a request not sent because the sender was busy is not an attempt, and is abandoned after three hours")
  func busySenderDoesNotCountAsAttempt() async throws {
    let fixture = try Fixture()
    let busy = HTTPActionResult.failure(.senderBusy, "too many requests are under way")
    let sender = ScriptedSender(Array(repeating: busy, count: 10))
    let component = try await open(fixture, sender)
    let box = try await component.service.makeBucket("b", anna)
    var run = try #require(
      try await component.service.invokeAction(called(component, in: box), context: anna).run)
    for _ in 0..<7 {
      #expect(run.state == .retrying && run.attemptCount == 0 && run.reason == "SENDER_BUSY")
      fixture.clock.advance(by: .seconds(60))
      #expect(try await component.timers.runDue() == 1)
      run = try await #require(try component.timers.repository.run(run.id, user: "anna"))
    }
    // Still retried at an age greater than that of the last attempt.
    fixture.clock.advance(by: .seconds(3600))
    #expect(try await component.timers.runDue() == 1)
    run = try await #require(try component.timers.repository.run(run.id, user: "anna"))
    #expect(run.state == .retrying)
    fixture.clock.advance(by: .milliseconds(2 * 3_600_000))
    #expect(try await component.timers.runDue() == 1)
    run = try await #require(try component.timers.repository.run(run.id, user: "anna"))
    #expect(run.state == .failed && run.reason == "SENDER_BUSY" && run.attemptCount == 0)
    #expect(try await component.timers.runDue() == 0)
    await component.close()
  }
}
