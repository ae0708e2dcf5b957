import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Sync

/// Records pushes, and throws the errors set by the test.
private final class FakeActivities: DeviceWaking {
  struct State {
    var pushes: [SendAlertRequest] = []
    var failures: [RPCError] = []
    var hasToken = true
  }

  let state = Mutex(State())
  var pushes: [SendAlertRequest] { state.withLock { $0.pushes } }

  func wake(_ push: SendAlertRequest) async throws -> SendAlertResponse {
    try state.withLock { state in
      if !state.failures.isEmpty { throw state.failures.removeFirst() }
      state.pushes.append(push)
      return SendAlertResponse(apnsIds: state.hasToken ? ["id-\(state.pushes.count)"] : [])
    }
  }
}

@Suite struct WakeTests {
  private static let minuteMs: Int64 = 60_000

  private static func subscribe(
    _ device: String, _ component: SyncComponent, _ subscriptions: [ZoneSubscription] = [.init()],
    updates: Bool = false, app: String = "", installation: String = ""
  ) async throws -> SyncDevice {
    let response = try await component.devices.setSubscriptions(
      .init(
        deviceId: device, subscriptions: subscriptions, wakesForUpdates: updates, app: app,
        installationId: installation), context: anna)
    return try #require(response.device)
  }

  @Test("a commit wakes the subscribers of its zone, other than its author")
  func wakesSubscribers() async throws {
    let link = FakeActivities()
    let fixture = try Fixture()
    try await fixture.run(wakeLink: link) { component in
      let waker = try #require(component.waker)
      let device = try await Self.subscribe("watch", component, app: "com.example.app", installation: "w-1")
      #expect(device.subscriptions == [.init(zoneId: "ZentikSyncZone")])
      #expect(device.installationId == "w-1" && device.wakeTime == nil)
      _ = try await Self.subscribe("phone", component)
      try await component.put("a", "1")
      #expect(try await waker.step() == 0)
      try await component.put("b", "1")
      fixture.clock.advance(by: .milliseconds(WakeBudget.delayMs))
      #expect(try await waker.step() == 1)
      #expect(try await waker.step() == 0)
      let push = try #require(link.pushes.first)
      #expect(link.pushes.count == 1)
      #expect(push.userId == "anna" && push.app == "com.example.app" && push.installationId == "w-1")
      // Without an alert and a badge it is a background push.
      #expect(push.alert == nil && push.badge == nil && push.collapseId == "sync")
      #expect(push.dataJson == "{\"zoneIds\":[\"ZentikSyncZone\"],\"sequence\":\"0\"}")
      #expect(fixture.wakes == [.sent])
      let listed = try await component.devices.listSyncDevices(.init(), context: anna).devices
      #expect(listed.map { $0.wakeTime?.millisecondsSince1970 } == [nil, fixture.clock.nowMs])
      #expect(listed.map(\.subscriptions.count) == [1, 1])
      // An empty list ends the subscriptions.
      _ = try await Self.subscribe("watch", component, [])
      try await component.put("c", "1")
      fixture.clock.advance(by: .milliseconds(60 * Self.minuteMs))
      #expect(try await waker.step() == 0)
    }
  }

  @Test("subscriptions select by zone, type and name")
  func subscriptionsSelect() async throws {
    let link = FakeActivities()
    let fixture = try Fixture()
    try await fixture.run(wakeLink: link) { component in
      let waker = try #require(component.waker)
      _ = try await component.zones.createZone(.init(zoneId: "Z"), context: anna)
      func isWoken(_ name: String, type: String = "Note", zone: String = "") async throws -> Bool {
        let count = link.pushes.count
        try await component.put(name, "{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}", zone: zone) {
          $0.recordType = type
        }
        fixture.clock.advance(by: .milliseconds(60 * Self.minuteMs))
        _ = try await waker.step()
        return link.pushes.count > count
      }
      let made = try await Self.subscribe(
        "watch", component,
        [
          .init(recordType: "BucketsData"), .init(zoneId: "Z", name: "buckets_data"), .init(name: "notifications_data"),
          .init(recordType: "BucketsData"),
        ])
      #expect(
        made.subscriptions == [
          .init(zoneId: "Z", name: "buckets_data"), .init(zoneId: "ZentikSyncZone", name: "notifications.json"),
          .init(zoneId: "ZentikSyncZone", recordType: "BucketsData"),
        ])
      #expect(try await isWoken("any", type: "BucketsData"))
      #expect(try await isWoken("notifications.json"))
      #expect(try await isWoken("buckets_data", zone: "Z"))
      #expect(try await !isWoken("other"))
      #expect(try await !isWoken("other", type: "BucketsData", zone: "Z"))
    }
  }

  @Test("messages wake only devices that ask for it, and exports count")
  func messagesWake() async throws {
    let (link, notifications) = (FakeActivities(), FakeNotifications())
    let fixture = try Fixture()
    try await fixture.run(link: notifications, wakeLink: link) { component in
      let (waker, exporter) = (try #require(component.waker), try #require(component.exporter))
      _ = try await Self.subscribe("watch", component, [], updates: true)
      _ = try await Self.subscribe("phone", component, [.init(recordType: "NotificationsData")])
      _ = try await component.publish(.bucketUpdated, "b", from: "phone", id: "m")
      fixture.clock.advance(by: .milliseconds(30 * Self.minuteMs))
      #expect(try await waker.step() == 1)
      #expect(link.pushes.map(\.installationId) == ["watch"])
      #expect(link.pushes.first?.dataJson == "{\"zoneIds\":[],\"sequence\":\"1\"}")
      // The publisher is not woken by its own message.
      _ = try await component.publish(.bucketUpdated, "b", from: "watch", id: "m")
      fixture.clock.advance(by: .milliseconds(30 * Self.minuteMs))
      #expect(try await waker.step() == 0)
      _ = try await exporter.step()
      fixture.clock.advance(by: .milliseconds(30 * Self.minuteMs))
      #expect(try await waker.step() == 2)
      #expect(Set(link.pushes.dropFirst().map(\.installationId)) == ["phone", "watch"])
      // A fresh id for each push, so that none is taken for a repetition.
      #expect(Set(link.pushes.map(\.alertId)).count == 3)
    }
  }

  @Test("a device gets at most three pushes at once and three an hour, and none is lost")
  func pushesAreBudgeted() async throws {
    let link = FakeActivities()
    let fixture = try Fixture()
    try await fixture.run(wakeLink: link) { component in
      let waker = try #require(component.waker)
      _ = try await Self.subscribe("watch", component)
      var sentAt: [Int64] = []
      let start = fixture.clock.nowMs
      // A change every ten seconds for three hours.
      for number in 0..<(3 * 360) {
        try await component.put("a", "\(number)")
        fixture.clock.advance(by: .seconds(10))
        let count = link.pushes.count
        _ = try await waker.step()
        if link.pushes.count > count { sentAt.append(fixture.clock.nowMs - start) }
      }
      #expect(link.pushes.count == sentAt.count)
      #expect((9...12).contains(sentAt.count))
      for (index, time) in sentAt.enumerated() where index >= 4 {
        // No four pushes within an hour, after the first burst.
        if index >= 6 { #expect(time - sentAt[index - 3] >= 60 * Self.minuteMs - 10_000) }
      }
      // The last change is pushed when the budget allows it.
      fixture.clock.advance(by: .milliseconds(60 * Self.minuteMs))
      let count = link.pushes.count
      _ = try await waker.step()
      #expect(link.pushes.count == count + 1)
      fixture.clock.advance(by: .milliseconds(600 * Self.minuteMs))
      #expect(try await waker.step() == 0)
    }
  }

  @Test func failedPushesAreRepeatedWithTheSameID() async throws {
    let link = FakeActivities()
    let fixture = try Fixture()
    try await fixture.run(wakeLink: link) { component in
      let waker = try #require(component.waker)
      _ = try await Self.subscribe("watch", component)
      link.state.withLock { $0.failures = [RPCError(.unavailable, "away", reason: "AWAY")] }
      try await component.put("a", "1")
      fixture.clock.advance(by: .seconds(2))
      #expect(try await waker.step() == 1)
      #expect(try await waker.step() == 0)
      fixture.clock.advance(by: .seconds(1))
      #expect(try await waker.step() == 1)
      #expect(link.pushes.count == 1)
      // A rejected push, and one without a token, are not repeated and cost nothing.
      link.state.withLock { $0.failures = [RPCError(.invalidArgument, "no", reason: "APP_INVALID")] }
      try await component.put("a", "2")
      fixture.clock.advance(by: .seconds(2))
      #expect(try await waker.step() == 1)
      link.state.withLock { $0.hasToken = false }
      for number in 0..<4 {
        try await component.put("a", "\(number + 10)")
        fixture.clock.advance(by: .seconds(2))
        #expect(try await waker.step() == 1)
      }
      #expect(
        fixture.wakes == [
          .failed, .sent, .rejected, .withoutToken, .withoutToken, .withoutToken, .withoutToken,
        ])
      // A push service that is away for a day.
      link.state.withLock { $0.failures = Array(repeating: RPCError(.unavailable, "away", reason: "AWAY"), count: 500) }
      try await component.put("a", "3")
      for _ in 0..<400 {
        fixture.clock.advance(by: .milliseconds(5 * Self.minuteMs))
        _ = try await waker.step()
      }
      #expect(
        try component.store.readSingleBlocking { try $0.queryOne(WakeTable.nextSQL) { try $0.integer(0) } } == nil)
    }
  }

  @Test("a device with an open watch is not pushed to, and a restart loses no wake")
  func awakeDevicesAreNotPushedTo() async throws {
    let link = FakeActivities()
    let fixture = try Fixture()
    try await fixture.run(wakeLink: link) { component in
      let waker = try #require(component.waker)
      _ = try await Self.subscribe("watch", component)
      try await component.devices.awake.during("watch", user: "anna") {
        try await component.put("a", "1")
        fixture.clock.advance(by: .seconds(2))
        #expect(try await waker.step() == 1)
        #expect(link.pushes.isEmpty)
      }
      try await component.put("a", "2")
    }
    try await fixture.run(wakeLink: link) { component in
      fixture.clock.advance(by: .seconds(2))
      #expect(try await component.waker?.step() == 1)
      #expect(link.pushes.count == 1)
      try await component.put("a", "3")
      _ = try await component.devices.unregisterDevice(.init(deviceId: "watch"), context: anna)
      fixture.clock.advance(by: .milliseconds(60 * Self.minuteMs))
      #expect(try await component.waker?.step() == 0)
    }
  }

  @Test func refusesSubscriptions() async throws {
    try await Fixture().run { component in
      #expect(
        await refusal { try await Self.subscribe("tv", component) } == "NOT_FOUND DEVICE_NOT_FOUND")
      #expect(
        await refusal { try await Self.subscribe("watch", component, Array(repeating: .init(), count: 21)) }
          == "INVALID_ARGUMENT TOO_MANY")
      let error = await failure {
        try await Self.subscribe("watch", component, [.init(), .init(zoneId: "..", name: "a/b")], app: "no app")
      }
      #expect(
        error?.fieldViolations.map(\.field) == ["app", "subscriptions[1].zoneId", "subscriptions[1].name"])
      // Registering again keeps the subscriptions.
      _ = try await Self.subscribe("watch", component, updates: true)
      let again = try await component.devices.registerDevice(
        .init(device: SyncDevice(id: "watch", role: .reader, displayName: "W")), context: anna)
      #expect(again.device?.subscriptions.count == 1 && again.device?.wakesForUpdates == true)
      // Without a push service nothing is scheduled.
      try await component.put("a", "1")
      #expect(
        try component.store.readSingleBlocking { try $0.queryOne(WakeTable.nextSQL) { try $0.integer(0) } } == nil)
    }
  }
}
