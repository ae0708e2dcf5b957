import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileJSON
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Sync

@Suite struct ExportTests {
  private static func bucket(_ id: String, _ name: String) -> Bucket {
    Bucket(
      id: id, name: name, createTime: ProtoTimestamp(seconds: 1_770_000_000),
      updateTime: ProtoTimestamp(seconds: 1_770_000_000, nanos: 5_000_000))
  }

  private static let notification = Notification(
    id: "n_1", bucketId: "b_1", title: "Quotes \" and \u{1F514}", body: "line\nline",
    attachments: [.init(mediaType: .gif)], actions: [.init(type: .markAsRead)],
    tapAction: .init(type: .navigate, value: "https://example.com", destructive: true),
    createTime: ProtoTimestamp(seconds: 1_770_000_000), updateTime: ProtoTimestamp(seconds: 1_770_000_001),
    readTime: ProtoTimestamp(seconds: 1_770_000_001))

  @Test func writesFilesInTheFormatOfTheApps() throws {
    let buckets = ContainerWriter.buckets([Self.bucket("b_1", "One"), Self.bucket("b_2", "Two")], atMs: 1_000)
    #expect(
      String(decoding: buckets, as: UTF8.self)
        == "{\"buckets\":[{\"id\":\"b_1\",\"name\":\"One\",\"createdAt\":\"2026-02-02T02:40:00Z\","
        + "\"updatedAt\":\"2026-02-02T02:40:00.005Z\"},{\"id\":\"b_2\",\"name\":\"Two\","
        + "\"createdAt\":\"2026-02-02T02:40:00Z\",\"updatedAt\":\"2026-02-02T02:40:00.005Z\"}],"
        + "\"syncTimestamp\":\"1970-01-01T00:00:01Z\"}")
    let notifications = ContainerWriter.notifications([Self.notification], atMs: 0)
    let summary = try notifications.withUnsafeBytes { try ContainerCheck.check($0, as: .notifications) }
    #expect(summary.recordCount == 1)
    #expect(String(decoding: notifications, as: UTF8.self).contains("\"attachments\":[{\"mediaType\":\"GIF\"}]"))
    #expect(
      ContainerWriter.isSame(
        buckets, ContainerWriter.buckets([Self.bucket("b_1", "One"), Self.bucket("b_2", "Two")], atMs: 5)))
    #expect(!ContainerWriter.isSame(buckets, ContainerWriter.buckets([Self.bucket("b_1", "One")], atMs: 1_000)))
    let empty = ContainerWriter.buckets([], atMs: 0)
    #expect(ContainerWriter.isSame(empty, ContainerWriter.buckets([], atMs: 7)))
  }

  @Test func commitsBothFilesOnceForABurst() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      link.state.withLock { $0.buckets = [Self.bucket("b_1", "One")] }
      // The registered devices have already requested an export.
      for _ in 0..<1_000 { try await exporter.queue.add(["anna"], token: nil) }
      #expect(try await exporter.step() == 0)
      fixture.clock.advance(by: .milliseconds(ExportQueue.delayMs))
      #expect(try await exporter.step() == 1)
      #expect(try await exporter.step() == 0)
      let list = try await component.list()
      #expect(list.revision == 1)
      #expect(list.assets.map(\.name) == ["buckets.json", "notifications.json"])
      #expect(list.assets.map(\.recordCount) == [1, 0])
      #expect(list.assets.map(\.recordType) == ["BucketsData", "NotificationsData"])
      #expect(
        list.assets.map { $0.syncTime?.millisecondsSince1970 } == [fixture.clock.nowMs, fixture.clock.nowMs])
      // The files have not changed: no commit.
      try await exporter.queue.add(["anna"], token: nil)
      fixture.clock.advance(by: .seconds(1))
      #expect(try await exporter.step() == 1)
      #expect(try await component.list().revision == 1)
      link.state.withLock { $0.notifications = [Self.notification] }
      try await exporter.queue.add(["anna"], token: nil)
      fixture.clock.advance(by: .seconds(1))
      _ = try await exporter.step()
      #expect(try await component.list().assets.map(\.recordCount) == [1, 1])
      #expect(try await component.list().revision == 2)
    }
  }

  /// The clock advances by a millisecond in each step. Every change is in the files within a second, however many there
  /// are.
  @Test(arguments: [[1], [10], [150, 250, 199, 201], [999]])
  func exportsEveryChangeWithinASecond(pausesMs: [Int64]) async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      let (start, lastMs) = (fixture.clock.nowMs, Int64(4_000))
      var next: Int64 = 0
      var waiting: [Int64] = []
      var made = 0
      while next <= lastMs || !waiting.isEmpty {
        let elapsed = fixture.clock.nowMs - start
        if elapsed == next, next <= lastMs {
          link.state.withLock { $0.buckets = [Self.bucket("b_1", "Number \(made)")] }
          try await exporter.queue.add(["anna"], token: nil)
          waiting.append(elapsed)
          next += pausesMs[made % pausesMs.count]
          made += 1
        }
        if try await exporter.step() > 0 {
          let text = try await component.text("buckets.json")
          #expect(text.contains("\"Number \(made - 1)\""))
          waiting = []
        }
        #expect(waiting.allSatisfy { elapsed - $0 <= 1_000 })
        // If no user is due, the loop sleeps until the next due time, which is at most the delay away.
        if let dueMs = try await exporter.queue.nextDueMs() {
          #expect(dueMs <= fixture.clock.nowMs + ExportQueue.delayMs)
        }
        fixture.clock.advance(by: .milliseconds(1))
      }
      #expect(try await component.list().revision <= lastMs / ExportQueue.delayMs + 2)
      #expect(try await component.list().revision >= 5)
    }
  }

  @Test func notifiesDevicesOnceOfEachChange() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      func export(_ name: String) async throws {
        link.state.withLock { $0.buckets = [Self.bucket("b_1", name)] }
        try await exporter.queue.add(["anna", "nobody-home"], token: nil)
        fixture.clock.advance(by: .seconds(1))
        _ = try await exporter.step()
      }
      try await export("One")
      let first = try await component.updates("watch")
      #expect(first.map { $0.message?.type } == [.fullSync])
      #expect(first.first?.sourceDeviceId == "")
      #expect(first.first?.message?.eventTime?.millisecondsSince1970 == fixture.clock.nowMs)
      _ = try await component.publish(.notificationRead, "n_1", id: "m1")
      for number in 0..<5 { try await export("Two \(number)") }
      // A device that missed several changes of a bucket receives only the last one, after the messages of devices.
      let phone = try await component.updates("phone")
      #expect(phone.map { $0.message?.type } == [.fullSync, .notificationRead, .bucketUpdated])
      #expect(phone.last?.message?.entityId == "b_1")
      let watch = try await component.updates("watch", after: try #require(first.last?.sequence))
      #expect(watch.map { $0.message?.type } == [.bucketUpdated])
      #expect(watch.map(\.sequence) == phone.suffix(1).map(\.sequence))
      // No change causes no message.
      try await exporter.queue.add(["anna"], token: nil)
      fixture.clock.advance(by: .seconds(1))
      _ = try await exporter.step()
      #expect(try await component.updates("watch", after: try #require(watch.last?.sequence)).isEmpty == true)
    }
  }

  @Test func exportsDoNotDisplaceDeviceMessages() async throws {
    let link = FakeNotifications()
    var limits = SyncLimits()
    limits.messagesPerUserMax = 4
    let fixture = try Fixture(limits)
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      _ = try await component.publish(.notificationRead, "n_1", id: "m1")
      for number in 0..<20 {
        link.state.withLock { $0.buckets = [Self.bucket("b_1", "\(number)")] }
        try await exporter.queue.add(["anna"], token: nil)
        fixture.clock.advance(by: .seconds(1))
        _ = try await exporter.step()
      }
      #expect(
        try await component.updates("phone").map { $0.message?.type } == [.notificationRead, .fullSync, .bucketUpdated])
      for number in 2...4 { _ = try await component.publish(.notificationRead, "n", id: "m\(number)") }
      let found = try await component.updates("phone")
      // Four messages are retained: that of the last export and the last three.
      #expect(found.map(\.sequence) == [2, 21, 22, 23, 24])
      #expect(found.first?.message?.type == .fullSync)
    }
  }

  @Test func endsWithoutLoggingAWarning() async throws {
    let link = FakeNotifications()
    link.state.withLock { $0.staysOpen = true }
    // The shutdown of the other service is not logged either.
    link.fail(WatchHub.closed)
    let fixture = try Fixture()
    let told = Mutex<[String]>([])
    let component = try await fixture.open(link: link) { line in told.withLock { $0.append(line) } }
    let exporter = try #require(component.exporter)
    let running = Task { await exporter.run() }
    while !link.calls.contains(where: { $0.hasPrefix("follow") }) { await Task.yield() }
    running.cancel()
    await running.value
    #expect(told.withLock { $0 } == [])
    await component.close()
  }

  /// Runs the exporter until the link is asked to follow changes `count` times.
  private static func follow(_ component: SyncComponent, _ link: FakeNotifications, count: Int = 1) async throws {
    let exporter = try #require(component.exporter)
    link.state.withLock { $0.staysOpen = true }
    let running = Task { await exporter.run() }
    while link.calls.count(where: { $0.hasPrefix("follow") }) < count { await Task.yield() }
    running.cancel()
    await running.value
  }

  @Test func listsAllUsersBeforeItFollowsChanges() async throws {
    let link = FakeNotifications()
    link.state.withLock { state in
      state.users = [["anna", "bruno"], ["carla"]]
      state.changes = [
        .init(resumeToken: "started", event: .started(.init())),
        .init(resumeToken: "changed", event: .change(.init(userIds: ["dora"]))),
      ]
    }
    try await Fixture().run { component in
      let queue = ExportQueue(
        store: component.store, alarms: component.repository.notifier, nowMs: component.repository.clockMs)
      let exporter = Exporter(
        queue: queue, link: link, assets: component.assets, notificationsMax: 10, nowMs: component.repository.clockMs,
        signal: WakeSignal(), log: { _ in }, events: { _ in })
      link.state.withLock { $0.staysOpen = true }
      let running = Task { await exporter.run() }
      while try await queue.token() != "changed" { await Task.yield() }
      running.cancel()
      await running.value
      // The changes follow the first page, because later pages may miss changes since then.
      #expect(link.calls == ["list ", "list 1", "follow listed-0"])
      let queued = try component.store.readBlocking { transaction in
        try transaction.query("SELECT user_id FROM export_queue ORDER BY user_id") { try $0.text(0) }
      }
      #expect(queued == ["anna", "bruno", "carla", "dora"])
    }
  }

  @Test(arguments: ["TOKEN_TOO_OLD", "RESUME_TOKEN_INVALID"])
  func listsAllUsersAgainIfTheTokenIsStale(reason: String) async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let queue = try #require(component.exporter).queue
      try await queue.add([], token: "old")
      link.fail(RPCError(.outOfRange, "gone", reason: reason))
      try await Self.follow(component, link)
      #expect(link.calls == ["list ", "follow listed-0"])
      #expect(try await queue.token() == "listed-0")
    }
  }

  @Test func listsAllUsersAgainIfTheListWasInterrupted() async throws {
    let link = FakeNotifications()
    link.state.withLock { $0.users = [["anna"], ["bruno"]] }
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let queue = try #require(component.exporter).queue
      link.state.withLock { $0.interruptedPage = "1" }
      try await Self.follow(component, link)
      #expect(link.calls == ["list ", "list 1", "list ", "list 1", "follow listed-0"])
      #expect(try await queue.token() == "listed-0")
    }
  }

  @Test func retriesFailedExportWithoutDelayingOthers() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      fixture.clock.advance(by: .seconds(1))
      link.fail(RPCError(.unavailable, "away", reason: "AWAY"))
      #expect(try await exporter.step() == 1)
      #expect(try await component.list().revision == 0)
      try await exporter.queue.add(["bruno"], token: "t1")
      fixture.clock.advance(by: .milliseconds(300))
      #expect(try await exporter.step() == 1)
      #expect(try await component.list(bruno).revision == 1)
      #expect(try await exporter.queue.token() == "t1")
      fixture.clock.advance(by: .seconds(1))
      #expect(try await exporter.step() == 1)
      #expect(try await component.list().revision == 1)
    }
  }

  @Test func reschedulesAfterChangeDuringExport() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let queue = ExportQueue(
        store: component.store, alarms: component.repository.notifier, nowMs: { fixture.clock.nowMs })
      try await queue.add(["anna"], token: nil)
      fixture.clock.advance(by: .seconds(1))
      let entry = try await #require(try queue.due(countMax: 10).first)
      try await queue.add(["anna"], token: nil)
      try await queue.settle(entry)
      #expect(try await queue.due(countMax: 10).isEmpty == true)
      fixture.clock.advance(by: .seconds(1))
      let again = try await #require(try queue.due(countMax: 10).first)
      try await queue.settle(again)
      #expect(try await queue.nextDueMs() == nil)
    }
  }

  @Test("a device's version of a file ends the export, until the user starts it again")
  func deviceOwnsFilesThatItWrites() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      func export(_ name: String) async throws {
        link.state.withLock { $0.buckets = [Self.bucket("b_1", name)] }
        try await exporter.queue.add(["anna"], token: nil)
        fixture.clock.advance(by: .seconds(1))
        _ = try await exporter.step()
      }
      try await export("One")
      #expect(try await component.zone().exportsNotifications)
      let own = "{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}"
      let put = try await component.put("buckets.json", own) { $0.recordType = "BucketsData" }
      #expect(put.conflict == nil)
      #expect(put.exportEnded)
      try await export("Two")
      #expect(try await component.text("buckets.json") == own)
      let again = try await component.put("buckets.json", own) { $0.recordType = "BucketsData" }
      #expect(!again.exportEnded)
      let ended = try await component.zone()
      #expect(!ended.exportsNotifications)
      let started = try #require(
        try await component.zones.updateZone(.init(exportsNotifications: true, etag: ended.etag), context: anna).zone)
      #expect(started.exportsNotifications)
      #expect(started.etag != ended.etag)
      fixture.clock.advance(by: .seconds(1))
      _ = try await exporter.step()
      #expect(try await component.text("buckets.json").contains("\"Two\""))
      // The phone's file lost and is retained as a conflict.
      #expect(try await component.history("buckets.json", conflictsOnly: true).count == 1)
      // The export has no such effect.
      try await export("Three")
      #expect(try await component.text("buckets.json").contains("\"Three\""))
    }
  }

  @Test("deleting or restoring a file, or switching the export off, ends it as well")
  func exportEnds() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    let component = try await fixture.open(link: link)
    try await component.register("phone", .writer)
    let exporter = try #require(component.exporter)
    func step() async throws {
      try await exporter.queue.add(["anna"], token: nil)
      fixture.clock.advance(by: .seconds(1))
      _ = try await exporter.step()
    }
    try await step()
    _ = try await component.assets.deleteAsset(.init(deviceId: "phone", name: "notifications_data"), context: anna)
    try await step()
    #expect(try await component.list().assets.map(\.name) == ["buckets.json"])
    _ = try await component.zones.updateZone(.init(exportsNotifications: true), context: anna)
    try await step()
    #expect(try await component.list().assets.count == 2)
    let current = try await component.list().assets[0].version
    _ = try await component.assets.restoreAssetVersion(
      .init(deviceId: "phone", name: "buckets.json", version: current), context: anna)
    #expect(try await component.zone().exportsNotifications == false)
    _ = try await component.zones.updateZone(.init(exportsNotifications: true), context: anna)
    _ = try await component.zones.updateZone(.init(exportsNotifications: false), context: anna)
    try await step()
    link.fail(RPCError(.unavailable, "away", reason: "AWAY"))
    _ = try await component.zones.updateZone(.init(exportsNotifications: true), context: anna)
    try await step()
    try await step()
    try await step()
    #expect(fixture.exports == [.written, .ended, .written, .ended, .failed, .unchanged, .unchanged])
    #expect(try await component.usage().overdueExports == 0)
    await component.close()
  }

  @Test func onlyTheDefaultZoneHasAnExport() async throws {
    try await Fixture().run(link: FakeNotifications()) { component in
      _ = try await component.zones.createZone(.init(zoneId: "Z"), context: anna)
      #expect(
        await refusal {
          try await component.zones.updateZone(.init(zoneId: "Z", exportsNotifications: true), context: anna)
        } == "FAILED_PRECONDITION EXPORT_UNAVAILABLE")
      #expect(
        await refusal { try await component.zones.updateZone(.init(zoneId: "none"), context: anna) }
          == "NOT_FOUND ZONE_NOT_FOUND")
      #expect(
        await refusal { try await component.zones.updateZone(.init(etag: "v9"), context: anna) }
          == "ABORTED ETAG_MISMATCH")
      let own = try await component.put("buckets.json", "1", zone: "Z")
      #expect(!own.exportEnded)
      #expect(try await component.zone().exportsNotifications)
    }
    try await Fixture().run { component in
      let zone = try await component.zone()
      #expect(!zone.exportsNotifications)
      #expect(
        await refusal { try await component.zones.updateZone(.init(exportsNotifications: true), context: anna) }
          == "FAILED_PRECONDITION EXPORT_UNAVAILABLE")
      // The file of a phone stays its own if a notifications service is configured later.
      #expect(try await component.put("buckets.json", "{}").exportEnded == false)
      #expect(try await component.repository.zone("ZentikSyncZone", user: "anna").isExportEnded)
    }
  }

  @Test("a change at Notifications reaches devices by its name, and is not repeated to them")
  func namesChangesAtNotifications() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      func export(_ notifications: [Notification]) async throws {
        link.state.withLock { $0.notifications = notifications }
        try await exporter.queue.add(["anna"], token: nil)
        fixture.clock.advance(by: .seconds(1))
        _ = try await exporter.step()
      }
      var notification = Self.notification
      notification.readTime = nil
      var other = notification
      other.id = "n_2"
      try await export([notification, other])
      let start = try #require(try await component.updates("watch").last).sequence
      notification.readTime = ProtoTimestamp(seconds: 1_770_000_009)
      notification.updateTime = notification.readTime
      try await export([notification, other])
      let read = try await component.updates("watch", after: start)
      #expect(read.map { $0.message?.type } == [.notificationRead])
      #expect(read.first?.message?.entityId == "n_1")
      #expect(read.first?.sourceDeviceId == "")
      // The watch deletes the other one. The phone hears it from the watch, and nobody hears it again.
      fixture.clock.advance(by: .seconds(1))
      _ = try await component.publish(.notificationDeleted, "n_2", id: "m1")
      try await export([notification])
      #expect(try await component.updates("watch", after: start).map(\.sequence) == read.map(\.sequence))
      let phone = try await component.updates("phone", after: start)
      #expect(phone.map { $0.message?.type } == [.notificationRead, .notificationDeleted])
      #expect(phone.last?.sourceDeviceId == "watch")
      // It returns, and is deleted at Notifications: that is another deletion.
      try await export([notification, other])
      try await export([notification])
      let last = try await component.updates("watch", after: start)
      #expect(last.map { $0.message?.type } == [.fullSync, .notificationDeleted])
    }
  }
}
