import CampanileAPI
import CampanileCodec
import CampanileJSON
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import Synchronization
import Testing

@testable import Sync

@Suite struct ExportTests {
  private static func bucket(_ id: String, _ name: String) -> Bucket {
    .with {
      $0.id = id
      $0.name = name
      $0.createTime = ProtoTimestamp(seconds: 1_770_000_000)
      $0.updateTime = ProtoTimestamp(seconds: 1_770_000_000, nanos: 5_000_000)
    }
  }

  private static let notification = Notification.with {
    $0.id = "n_1"
    $0.bucketId = "b_1"
    $0.title = "Quotes \" and \u{1F514}"
    $0.body = "line\nline"
    $0.createTime = ProtoTimestamp(seconds: 1_770_000_000)
    $0.updateTime = ProtoTimestamp(seconds: 1_770_000_001)
    $0.readTime = ProtoTimestamp(seconds: 1_770_000_001)
    $0.attachments = [.with { $0.mediaType = .gif }]
    $0.actions = [.with { $0.type = .markAsRead }]
    $0.tapAction = .with {
      $0.type = .navigate
      $0.value = "https://example.com"
      $0.destructive = true
    }
  }

  @Test func writesTheFilesThatTheAppsRead() throws {
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
      // The registered devices have asked for the files already.
      for _ in 0..<1_000 { try await exporter.queue.add(["anna"], token: nil) }
      #expect(try await exporter.step() == 0)
      fixture.wait(ExportQueue.delayMs)
      #expect(try await exporter.step() == 1)
      #expect(try await exporter.step() == 0)
      let list = try await component.list()
      #expect(list.revision == 1)
      #expect(list.assets.map(\.name) == ["buckets.json", "notifications.json"])
      #expect(list.assets.map(\.recordCount) == [1, 0])
      #expect(list.assets.map(\.recordType) == ["BucketsData", "NotificationsData"])
      #expect(list.assets.map { $0.syncTimestamp?.millisecondsSince1970 } == [fixture.now, fixture.now])
      // Nothing has changed in the files: no commit.
      try await exporter.queue.add(["anna"], token: nil)
      fixture.wait(1_000)
      #expect(try await exporter.step() == 1)
      #expect(try await component.list().revision == 1)
      link.state.withLock { $0.notifications = [Self.notification] }
      try await exporter.queue.add(["anna"], token: nil)
      fixture.wait(1_000)
      _ = try await exporter.step()
      #expect(try await component.list().assets.map(\.recordCount) == [1, 1])
      #expect(try await component.list().revision == 2)
    }
  }

  @Test func triesAgainAfterAFailureWithoutHoldingOthersUp() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      fixture.wait(1_000)
      link.fail(RPCError(.unavailable, "away", reason: "AWAY"))
      #expect(try await exporter.step() == 1)
      #expect(try await component.list().revision == 0)
      try await exporter.queue.add(["bruno"], token: "t1")
      fixture.wait(300)
      #expect(try await exporter.step() == 1)
      #expect(try await component.list(user("bruno")).revision == 1)
      #expect(try exporter.queue.token() == "t1")
      fixture.wait(1_000)
      #expect(try await exporter.step() == 1)
      #expect(try await component.list().revision == 1)
    }
  }

  @Test func noticesAChangeThatComesMeanwhile() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let queue = ExportQueue(store: component.store, nowMs: { fixture.now })
      try await queue.add(["anna"], token: nil)
      fixture.wait(1_000)
      let entry = try #require(try queue.due(countMax: 10).first)
      try await queue.add(["anna"], token: nil)
      try await queue.settle(entry)
      #expect(try queue.due(countMax: 10).isEmpty == true)
      fixture.wait(1_000)
      let again = try #require(try queue.due(countMax: 10).first)
      try await queue.settle(again)
      #expect(try queue.nextDueMs() == nil)
    }
  }

  @Test func doesNotCallItsOwnExportAConflict() async throws {
    let link = FakeNotifications()
    let fixture = try Fixture()
    try await fixture.run(link: link) { component in
      let exporter = try #require(component.exporter)
      fixture.wait(1_000)
      _ = try await exporter.step()
      let put = try await component.put("buckets.json", "{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}") {
        $0.recordType = "BucketsData"
      }
      #expect(put.conflict == nil)
      link.state.withLock { $0.buckets = [Self.bucket("b_1", "One")] }
      try await exporter.queue.add(["anna"], token: nil)
      fixture.wait(1_000)
      _ = try await exporter.step()
      // The phone's file lost, and is kept.
      #expect(try await component.history("buckets.json", conflictsOnly: true).count == 1)
    }
  }
}
