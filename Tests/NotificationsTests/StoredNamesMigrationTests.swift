import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite(.onSQLite) struct StoredNamesMigrationTests {
  /// A text that looks like the member that is renamed.
  private static let trap = "\\\"everyMinutes\\\":7"
  private static let plan = "{\"everyMinutes\":5,\"maxCount\":3,\"count\":1}"

  /// Fills a store of the schema before the migration.
  private func fill(_ store: Store) async throws {
    let (trap, plan) = (Self.trap, Self.plan)
    try await store.write { transaction in
      try transaction.execute(
        """
        INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through, scheduled_count,
          deleted_count) VALUES ('anna', 1, 2, 2, 0, 1, 2)
        """)
      try transaction.execute(
        """
        INSERT INTO buckets (user_id, id, name, is_orphan, created_at_ms, updated_at_ms, version, notification_count,
          unread_count, is_muted, snoozed_until_ms, quiet_hours_json, max_count, after_read_hours)
        VALUES ('anna', 'b_1', 'b', 0, 1, 1, 4, 2, 2, 1, 99, '{"windows":[{"start":"22:00","end":"07:00"}]}', 9, 2)
        """)
      for (id, json) in [("n_1", SQLValue.text(plan)), ("n_2", .null)] {
        try transaction.execute(
          """
          INSERT INTO notifications (user_id, id, bucket_id, title, priority, created_at_ms, updated_at_ms, version,
            repeat_json) VALUES ('anna', $1, 'b_1', 'n', 2, 1, 1, 1, $2)
          """, [.text(id), json])
      }
      let whole = "{\"id\":\"ID\",\"bucketId\":\"b_1\",\"title\":\"\(trap)\",\"body\":\"é\",\"etag\":\"v1\""
      for (id, end) in [("n_3", ",\"repeat\":\(plan)}"), ("n_4", "}")] {
        try transaction.execute(
          """
          INSERT INTO deleted_notifications (user_id, id, bucket_id, is_with_bucket, deleted_at_ms, payload)
          VALUES ('anna', $1, 'b_1', 0, 5, $2)
          """, [.text(id), .blob(Array((whole.replacing("ID", with: id) + end).utf8))])
      }
      try transaction.execute(
        "INSERT INTO scheduled (user_id, id, deliver_at_ms, payload) VALUES ('anna', 'n_5', 1, $1)",
        [.blob(Array((whole.replacing("ID", with: "n_5") + ",\"repeat\":\(plan)}").utf8))])
      for (kind, id, payload) in [
        (1, "t_1", "{\"id\":\"t_1\",\"name\":\"t\",\"title\":\"x\",\"etag\":\"v3\"}"),
        (
          2, "h_1",
          """
          {"id":"h_1","name":"h","bucketId":"b_1","periodMinutes":5,"graceMinutes":1,
          "notification":{"title":"\(trap)","repeat":\(plan)}}
          """
        ),
        (2, "h_2", "{\"id\":\"h_2\",\"name\":\"h\",\"bucketId\":\"b_1\",\"periodMinutes\":525600}"),
        (
          3, "w_1",
          "{\"id\":\"w_1\",\"name\":\"w\",\"method\":\"DELETE\",\"url\":\"https://x.example\",\"headers\":{\"A\":\"secret\"}}"
        ),
      ] {
        try transaction.execute(
          "INSERT INTO automation (user_id, kind, id, payload) VALUES ('anna', $1, $2, $3)",
          [.int(kind), .text(id), .blob(Array(payload.utf8))])
      }
      try transaction.execute(
        """
        INSERT INTO changes (sequence, user_id, kind, bucket_id, notification_id, at_ms, payload)
        VALUES (1, 'anna', 5, 'b_1', '', 1, $1)
        """, [.blob(Array("{\"id\":\"b_1\",\"isMuted\":true}".utf8))])
      try transaction.execute(
        """
        INSERT INTO store_idempotency (principal, method, request_id, request_hash, reply, expires_at_ms)
        VALUES ('anna', 'm', 'r', $1, $1, 9000000000000)
        """, [.blob([1])])
    }
  }

  @Test("durations, methods, policies and settings of an old database survive the migration")
  func oldDatabaseOpens() async throws {
    let fixture = try Fixture()
    let earlier = NotificationsMigrations.all.prefix {
      $0.identifier != NotificationsMigrations.bucketSettings.identifier
    }
    let old = try Store(fixture.configuration, migrations: Array(earlier))
    try await fill(old)
    await old.close()
    let component = try await fixture.open()
    let (service, automation) = (component.service, component.automation)
    let plan = Repeat(every: ProtoDuration(seconds: 300), maxCount: 3, count: 1)
    #expect(try await service.all(anna).map(\.repeat) == [nil, plan])
    let deleted = try await service.listDeletedNotifications(.init(), context: anna).notifications
    #expect(deleted.map(\.repeat) == [nil, plan] && deleted.map(\.body) == ["é", "é"])
    #expect(deleted.map(\.title) == ["\"everyMinutes\":7", "\"everyMinutes\":7"])
    let scheduled = try await service.listScheduledNotifications(.init(), context: anna).notifications
    #expect(scheduled.map(\.repeat) == [plan] && scheduled.first?.title == "\"everyMinutes\":7")
    let heartbeats = try await automation.listHeartbeats(.init(), context: anna).heartbeats
    #expect(heartbeats.map(\.period?.seconds) == [300, 31_536_000])
    #expect(heartbeats.map(\.grace) == [ProtoDuration(seconds: 60), nil] && heartbeats.map(\.etag) == ["v1", "v1"])
    #expect(heartbeats[0].notification?.repeat == plan && heartbeats[0].notification?.title == "\"everyMinutes\":7")
    let webhook = try #require(try component.kept("w_1", user: "anna"))
    #expect(webhook.method == .delete && webhook.etag == "v1" && webhook.headers == ["A": "secret"])
    #expect(try await automation.getTemplate(.init(templateId: "t_1"), context: anna).template?.etag == "v3")
    let box = try #require(try await service.getBucket(.init(bucketId: "b_1"), context: anna).bucket)
    let hours = QuietHours(windows: [QuietWindow(start: "22:00", end: "07:00")])
    let policy = RetentionPolicy(maxCount: 9, afterRead: ProtoDuration(seconds: 7_200))
    #expect(
      box.settings
        == BucketSettings(
          bucketId: "b_1", isMuted: true, snoozeEndTime: ProtoTimestamp(millisecondsSince1970: 99), quietHours: hours,
          retention: policy, etag: "v1"))
    // The log remains, and reports the bucket of today.
    let token = ResumeToken(epoch: component.containers.epoch, sequence: 0).text(user: "anna")
    let changes = try await service.listNotificationChanges(.init(resumeToken: token), context: anna).changes
    #expect(changes.map(\.change) == [.bucketUpdated(box)])
    let replies = try component.store.readBlocking { transaction in
      try transaction.queryOne("SELECT count(*) FROM store_idempotency") { try $0.integer(0) }
    }
    #expect(replies == 0)
    await component.close()
  }
}
