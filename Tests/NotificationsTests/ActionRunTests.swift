import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Notifications

/// Records requests and returns the results given by the test.
final class ScriptedSender: HTTPActionSending {
  private let state = Mutex<(results: [HTTPActionResult], requests: [HTTPActionRequest])>(([], []))

  init(_ results: [HTTPActionResult]) { state.withLock { $0.results = results } }

  var requests: [HTTPActionRequest] { state.withLock { $0.requests } }

  let durationMsMax: Int64 = 25_000

  func send(_ request: HTTPActionRequest, of user: String) async -> HTTPActionResult {
    state.withLock { state in
      state.requests.append(request)
      return state.results.isEmpty ? .response(status: 204, retryAfter: nil, nowMs: 0) : state.results.removeFirst()
    }
  }
}

@Suite struct ActionRunTests {
  private func open(_ fixture: Fixture, _ sender: ScriptedSender) async throws -> NotificationsComponent {
    try await NotificationsComponent(
      store: fixture.configuration, limits: fixture.limits, retention: fixture.retention, sender: sender,
      nowMs: { fixture.clock.nowMs }, random: { 7 &* UInt64.random(in: .min ... .max) })
  }

  private func invoke(
    _ id: String, _ action: String, _ component: NotificationsComponent, requestID: String = ""
  ) async throws -> ActionRun {
    let request = InvokeActionRequest(notificationId: id, actionId: action, requestId: requestID)
    return try #require(try await component.service.invokeAction(request, context: anna).run)
  }

  private func action(_ type: ActionType, _ value: String) -> Action {
    Action(type: type, value: value, title: "do")
  }

  @Test func localActionsTakeEffect() async throws {
    let fixture = try Fixture()
    let component = try await open(fixture, ScriptedSender([]))
    let box = try await component.service.makeBucket("b", anna)
    var request = notification("n", in: box.id)
    request.notification?.actions = [
      action(.snooze, "15"), action(.postpone, "20"), action(.navigate, "https://example.org/x"),
      action(.openNotification, ""),
    ]
    request.notification?.tapAction = action(.navigate, "app://home")
    let one = try #require(try await component.service.createNotification(request, context: anna).notification)
    #expect(try await invoke(one.id, "tap", component).url == "app://home")
    #expect(try await invoke(one.id, "2", component).url == "https://example.org/x")
    #expect(try await invoke(one.id, "open", component).openNotificationId == one.id)
    _ = try await invoke(one.id, "0", component)
    #expect(try await component.service.repository.bucket(box.id, user: "anna").settings?.snoozeEndTime != nil)
    _ = try await invoke(one.id, "1", component)
    #expect(try await component.service.repository.notification(one.id, user: "anna").deliveryState == .postponed)
    _ = try await invoke(one.id, "mark_as_read", component)
    #expect(try await component.service.repository.notification(one.id, user: "anna").readTime != nil)
    for bad in ["4", "9", "x", "-1", "01"] where bad != "01" {
      #expect(await failure { try await invoke(one.id, bad, component) }?.reason == "ACTION_NOT_FOUND")
    }
    let run = try await invoke(one.id, "delete", component)
    #expect(run.state == .succeeded && run.attemptCount == 1)
    #expect(await failure { try await invoke(one.id, "delete", component) }?.code == .notFound)
    let list = ListActionRunsRequest(notificationId: one.id)
    #expect(try await component.service.listActionRuns(list, context: anna).runs.count == 7)
    #expect(try await component.service.listActionRuns(list, context: bruno).runs.isEmpty)
    await component.close()
  }

  @Test func webhookIsRunByItsID() async throws {
    let sender = ScriptedSender([])
    let component = try await open(try Fixture(), sender)
    let hook = try await component.automation.make(webhook("Door", headers: ["X-Key": "1"]), anna)
    var request = RunWebhookRequest(webhookId: hook.id, requestId: "once")
    let run = try #require(try await component.automation.runWebhook(request, context: anna).run)
    #expect(run.state == .succeeded && run.notificationId.isEmpty && run.actionId.isEmpty && run.httpStatus == 204)
    #expect(run.action == Action(type: .webhook, value: hook.id, title: "Door"))
    #expect(try await component.automation.runWebhook(request, context: anna).run?.id == run.id)
    let sent = try #require(sender.requests.first)
    #expect(sender.requests.count == 1 && sent.body == Array("{}".utf8) && sent.headers == ["X-Key": "1"])
    // With a notification, a webhook without a body sends it.
    let box = try await component.service.makeBucket("b", anna)
    let one = try await component.service.make("n", in: box.id, anna)
    request = RunWebhookRequest(webhookId: hook.id, notificationId: one.id)
    #expect(try await component.automation.runWebhook(request, context: anna).run?.notificationId == one.id)
    #expect(sender.requests.last.map { String(decoding: $0.body, as: UTF8.self).contains(one.id) } == true)
    #expect(try await component.service.listActionRuns(.init(), context: anna).runs.count == 2)
    for (webhook, notification, reason) in [
      ("w_none", "", "WEBHOOK_NOT_FOUND"), (hook.id, "n_none", "NOTIFICATION_NOT_FOUND"),
    ] {
      request = RunWebhookRequest(webhookId: webhook, notificationId: notification)
      #expect(
        await failure { try await component.automation.runWebhook(request, context: anna) }?.reason == reason)
    }
    await component.close()
  }

  @Test func newestRunsAreRetained() async throws {
    var limits = NotificationsLimits()
    limits.actionRunsPerUserMax = 3
    let component = try await open(try Fixture(limits), ScriptedSender([]))
    let box = try await component.service.makeBucket("b", anna)
    let one = try await component.service.make("n", in: box.id, anna)
    var ids: [String] = []
    for _ in 0..<5 { ids.append(try await invoke(one.id, "mark_as_read", component).id) }
    let kept = try await component.service.listActionRuns(.init(), context: anna).runs.map(\.id)
    #expect(kept == ids.suffix(3).reversed())
    await component.close()
  }

  @Test func requestsAreRetriedWithOneIdempotencyKey() async throws {
    let fixture = try Fixture()
    let failing = HTTPActionResult.response(status: 503, retryAfter: nil, nowMs: 0)
    let sender = ScriptedSender([failing, failing])
    var component = try await open(fixture, sender)
    let box = try await component.service.makeBucket("b", anna)
    var request = notification("n", in: box.id)
    request.notification?.actions = [
      action(.backgroundCall, "POST::https://example.org/hook"), action(.webhook, "w_none"),
    ]
    let one = try #require(try await component.service.createNotification(request, context: anna).notification)
    let first = try await invoke(one.id, "0", component, requestID: "once")
    #expect(first.state == .retrying && first.httpStatus == 503 && first.reason == "HTTP_5XX")
    #expect(try await invoke(one.id, "0", component, requestID: "once").id == first.id)
    #expect(sender.requests.count == 1)
    await component.close()
    component = try await open(fixture, sender)
    for _ in 0..<2 {
      fixture.clock.advance(by: .seconds(600))
      #expect(try await component.timers.runDue() == 1)
    }
    #expect(sender.requests.count == 3 && Set(sender.requests.map(\.idempotencyKey)) == [first.id])
    let run = try #require(try await component.service.listActionRuns(.init(), context: anna).runs.first)
    #expect(run.state == .succeeded && run.attemptCount == 3 && run.httpStatus == 204 && run.nextAttemptTime == nil)
    #expect(try await component.timers.runDue() == 0)
    let missing = try await invoke(one.id, "1", component)
    #expect(missing.state == .failed && missing.reason == "WEBHOOK_NOT_FOUND")
    await component.close()
  }
}
