import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import NIOPosix
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// Records the reported deliveries, and fails as often as the test configures.
final class RecordingReporter: DeliveryReporting {
  let state = Mutex<(deliveries: [NotificationDelivery], failures: Int)>(([], 0))

  func record(_ deliveries: RecordDeliveriesRequest) async throws {
    try state.withLock { state in
      if state.failures > 0 {
        state.failures -= 1
        throw RPCError(.unavailable, "away", reason: "CONNECT_FAILED")
      }
      state.deliveries += deliveries.deliveries
    }
  }
}

@Suite struct AlertReportTests {
  private func open(_ fixture: Fixture, _ reporter: RecordingReporter?) async throws -> ActivitiesComponent {
    try await ActivitiesComponent(
      ActivitiesConfiguration(
        store: try TestStore.configuration(fixture.folder.file("activities.sqlite")),
        addedKeysDirectory: fixture.folder.file("keys")),
      group: MultiThreadedEventLoopGroup.singleton,
      environment: .init(
        nowMs: { fixture.clock.nowMs }, steadyMs: { fixture.clock.nowMs }),
      sender: nil, canSign: { _, _ in true }, reporter: reporter)
  }

  private func send(_ id: String, _ component: ActivitiesComponent) async throws -> [String] {
    let request = SendAlertRequest(userId: "anna", alertId: "\(id):1", notificationId: id, alert: alert())
    return try await component.unread.sendAlert(request, context: program).apnsIds
  }

  /// Ends every waiting push with the given outcomes, in id order.
  private func end(_ component: ActivitiesComponent, _ outcomes: [(DeliveryLogOutcome, String)], nowMs: Int64)
    async throws
  {
    try await component.store.write { transaction in
      let route = PushRouteKey(app: app, environment: "development")
      let pushes = try transaction.query("SELECT \(ClaimedPush.columns) FROM pushes AS p ORDER BY p.apns_id") {
        try ClaimedPush($0, route: route, routeID: 1)
      }
      let completion = PushCompletion(
        transaction: transaction, registry: component.repository, listener: AlertReportListener(),
        notifier: DeliveryNotifier(ends: PushEnds(epoch: 0, hub: WatchHub(limits: ActivitiesLimits()))),
        limits: DeliveryLimits(), nowMs: nowMs)
      for (push, (outcome, reason)) in zip(pushes, outcomes) {
        try completion.end(push, outcome, status: 0, reason: reason, measure: .accepted)
      }
    }
  }

  @Test func eachPushResultIsReportedOnce() async throws {
    let fixture = try Fixture()
    let reporter = RecordingReporter()
    var component = try await open(fixture, reporter)
    let phone = try await component.register(token(.device, hex(1)), anna)
    var ids: [String] = []
    for name in ["n1", "n2", "n3", "n4"] { ids += try await send(name, component) }
    #expect(ids.count == 4)
    #expect(try await #require(component.reports).step() == 0)
    try await end(
      component,
      [(.accepted, ""), (.rejected, "Unregistered"), (.deadLetter, "TopicDisallowed"), (.expired, "Expired")],
      nowMs: Fixture.startMs + 5)
    // The reports survive an unavailable receiver and a restart.
    reporter.state.withLock { $0.failures = 1 }
    await #expect(throws: RPCError.self) { try await component.reports?.step() }
    await component.close()
    component = try await open(fixture, reporter)
    #expect(try await #require(component.reports).step() == 4)
    #expect(try await #require(component.reports).step() == 0)
    let told = reporter.state.withLock { $0.deliveries }
    #expect(Set(told.map(\.notificationId)) == ["n1", "n2", "n3", "n4"] && told.allSatisfy { $0.userId == "anna" })
    let records = told.sorted { $0.notificationId < $1.notificationId }.compactMap(\.record)
    #expect(records.map(\.outcome) == [.pushed, .rejected, .rejected, .expired])
    #expect(records.map(\.reason) == ["", "Unregistered", "TopicDisallowed", "Expired"])
    #expect(records.map(\.pushId) == ids && records.allSatisfy { $0.deviceId == phone.id })
    #expect(records.allSatisfy { $0.eventTime?.millisecondsSince1970 == Fixture.startMs + 5 })
    await component.close()
  }

  @Test func reportsAreStoredOnlyForAReporterAndExpire() async throws {
    let fixture = try Fixture()
    func rows(_ component: ActivitiesComponent) throws -> Int64 {
      try component.store.readSingleBlocking {
        try $0.queryOne("SELECT count(*) FROM alert_reports") { try $0.integer(0) } ?? -1
      }
    }
    var component = try await open(fixture, nil)
    try await component.register(token(.device, hex(1)), anna)
    _ = try await send("n1", component)
    #expect(try rows(component) == 0)
    await component.runReports()
    await component.close()
    component = try await open(fixture, RecordingReporter())
    _ = try await send("n2", component)
    #expect(try rows(component) == 1)
    fixture.clock.advance(by: .milliseconds(ActivityRetention.alertRetentionMs + 1))
    _ = try await component.maintain(nowMs: fixture.clock.nowMs)
    #expect(try rows(component) == 0)
    await component.close()
  }

  @Test(
    .onSQLite,
    arguments: [
      (AlertReports.settleSQL, "sqlite_autoindex_alert_reports_1"), (AlertReports.settledSQL, "alert_reports_settled"),
      (AlertReports.deleteSQL, "alert_reports_"), (AlertReports.expiredSQL, "alert_reports_queued"),
    ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    let plan = try component.store.queryPlan(sql)
    #expect(try component.store.fullScans(sql) == [], "\(plan)")
    #expect(plan.contains { $0.contains(index) } && !plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    await component.close()
  }
}
