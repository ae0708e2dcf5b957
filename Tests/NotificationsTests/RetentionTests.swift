import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct RetentionTests {
  private static let hourMs: Int64 = 3_600_000
  private static let dayMs: Int64 = 24 * hourMs

  private func setPolicy(
    _ bucket: Bucket, days: Int = 0, count: Int = 0, hours: Int = 0, _ component: NotificationsComponent
  ) async throws {
    _ = try await component.store.write { transaction in
      try transaction.execute(
        "UPDATE buckets SET max_age_days = $1, max_count = $2, after_read_ms = $3 WHERE id = $4",
        [.int(days), .int(count), .integer(Int64(hours) * Self.hourMs), .text(bucket.id)])
    }
  }

  private func number(_ sql: String, _ component: NotificationsComponent) throws -> Int64? {
    try component.store.readBlocking { try $0.queryOne(sql) { try $0.integer(0) } }
  }

  /// Compares the stored counts of the bucket and of the user with counted rows.
  private func recount(_ component: NotificationsComponent) throws {
    for (table, condition) in [
      ("buckets", "n.user_id = t.user_id AND n.bucket_id = t.id"), ("users", "n.user_id = t.user_id"),
    ] {
      let wrong = try number(
        """
        SELECT count(*) FROM \(table) AS t
        WHERE notification_count <> (SELECT count(*) FROM notifications AS n WHERE \(condition))
          OR unread_count <> (SELECT count(*) FROM notifications AS n WHERE \(condition) AND read_at_ms IS NULL)
        """, component)
      #expect(wrong == 0)
    }
  }

  @Test func ruleIsPure() {
    let rule = RetentionRule(maxAgeDays: 2, maxCount: 10, afterReadMs: 3 * Self.hourMs)
    #expect(rule.surplus(of: 10) == 0 && rule.surplus(of: 13) == 3)
    #expect(rule.readThroughMs(nowMs: 10 * Self.hourMs) == 7 * Self.hourMs)
    let bound = rule.expiredBelow(nowMs: 5 * Self.dayMs)
    #expect(bound == SortableID.lowerBound(prefix: "n_", timeMs: 3 * Self.dayMs))
    let none = RetentionRule(maxAgeDays: 0, maxCount: 0, afterReadMs: 0)
    #expect(none.surplus(of: .max) == 0 && none.readThroughMs(nowMs: 1) == nil && none.expiredBelow(nowMs: 1) == nil)
    var violations = Violations()
    let policy = RetentionPolicy(maxAgeDays: 3_651, maxCount: -1, afterRead: ProtoDuration(seconds: 315_360_000))
    BucketSettings(retention: policy).validate("p.", into: &violations)
    #expect(violations.items.map(\.field) == ["p.retention.maxAgeDays", "p.retention.maxCount"])
    for seconds in [-1, 0, 59, 315_360_001] as [Int64] {
      violations = Violations()
      RetentionPolicy(afterRead: ProtoDuration(seconds: seconds)).validate(into: &violations)
      #expect(violations.items.map { "\($0.field) \($0.reason)" } == ["afterRead OUT_OF_RANGE"])
    }
  }

  @Test func deletesByAgeCountAndReading() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let old = try await service.makeBucket("age", anna)
    let full = try await service.makeBucket("count", anna)
    let read = try await service.makeBucket("read", anna)
    let free = try await service.makeBucket("free", anna)
    try await setPolicy(old, days: 1, component)
    try await setPolicy(full, count: 3, component)
    try await setPolicy(read, hours: 2, component)
    var ids: [String: [String]] = [:]
    for box in [old, full, read, free] {
      for index in 0..<5 { ids[box.id, default: []].append(try await service.make("\(index)", in: box.id, anna).id) }
    }
    try await service.mark(
      ids[read.id, default: []].dropLast(2).map { $0 } + ids[old.id, default: []].prefix(1), isRead: true, anna)
    let job = RetentionJob(store: component.store, notifier: component.notifier)
    var nowMs = fixture.clock.nowMs
    #expect(try await job.run(nowMs: nowMs) == 2)
    #expect(try await service.all(anna) { $0.bucketId = full.id }.map(\.title) == ["4", "3", "2"])
    nowMs += 2 * Self.hourMs
    #expect(try await job.run(nowMs: nowMs) == 3)
    #expect(try await service.all(anna) { $0.bucketId = read.id }.map(\.title) == ["4", "3"])
    nowMs += Self.dayMs
    #expect(try await job.run(nowMs: nowMs) == 5)
    #expect(try await service.all(anna) { $0.bucketId = old.id }.isEmpty)
    #expect(try await service.all(anna) { $0.bucketId = free.id }.count == 5)
    #expect(try await job.run(nowMs: nowMs) == 0)
    try recount(component)
    let logged = try number("SELECT count(*) FROM changes WHERE kind = 3", component)
    #expect(logged == 10)
    #expect(try number("SELECT count(*) FROM deleted_notifications", component) == 0)
    await component.close()
  }

  @Test func deletesDependentsOfANotification() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await setPolicy(box, count: 1, component)
    let first = try await service.make("first", in: box.id, anna)
    let second = try await service.make("second", in: box.id, anna)
    _ = try await component.store.write { transaction in
      for (index, id) in [first.id, second.id].enumerated() {
        let key: [SQLValue] = ["anna", .text(id)]
        try transaction.execute("INSERT INTO timers (user_id, subject_id, kind, due_ms) VALUES ($1, $2, 1, 5)", key)
        try transaction.execute(
          """
          INSERT INTO deliveries (user_id, notification_id, at_ms, device_id, outcome, reason, push_id)
          VALUES ($1, $2, 1, '', 1, '', '')
          """, key)
        for content in ["shared", "own \(index)"] {
          try transaction.execute(
            "INSERT INTO contents (content_id, data) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            [.text(content), .blob([1])])
          try transaction.execute(
            "INSERT INTO content_refs (user_id, notification_id, content_id) VALUES ($1, $2, $3)",
            key + [.text(content)])
        }
      }
    }
    #expect(try await RetentionJob(store: component.store, notifier: component.notifier).run(nowMs: 0) == 1)
    #expect(try number("SELECT count(*) FROM timers", component) == 1)
    #expect(try number("SELECT count(*) FROM deliveries", component) == 1)
    #expect(try number("SELECT count(*) FROM content_refs", component) == 2)
    let contents = try component.store.readBlocking {
      try $0.query("SELECT content_id FROM contents ORDER BY content_id") { try $0.text(0) }
    }
    #expect(contents == ["own 1", "shared"])
    await component.close()
  }

  @Test func boundedRunsContinueWhereTheyEnded() async throws {
    let component = try await Fixture().open()
    let service = component.service
    var boxes: [Bucket] = []
    for index in 0..<4 { boxes.append(try await service.makeBucket("\(index)", user("u\(index)"))) }
    for (index, box) in boxes.enumerated() {
      try await setPolicy(box, count: 1, component)
      for _ in 0..<6 { _ = try await service.make("n", in: box.id, user("u\(index)")) }
    }
    var job = RetentionJob(store: component.store, notifier: component.notifier)
    job.batchRows = 2
    job.commitsMax = 4
    var counts: [Int] = []
    for _ in 0..<20 {
      let count = try await job.run(nowMs: 0)
      counts.append(count)
      if counts.reduce(0, +) == 20 { break }
    }
    #expect(counts.reduce(0, +) == 20 && counts.count > 2 && counts.allSatisfy { $0 <= 8 }, "\(counts)")
    try recount(component)
    // After its end, the walk restarts at the beginning.
    _ = try await service.make("n", in: boxes[0].id, user("u0"))
    #expect(try await job.run(nowMs: 0) + job.run(nowMs: 0) == 1)
    await component.close()
  }

  @Test func purgesRowsOlderThanThirtyDays() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let gone = try await service.makeBucket("gone", anna)
    let box = try await service.makeBucket("b", anna)
    let kept = try await service.make("kept", in: box.id, anna)
    let day = Self.dayMs
    _ = try await component.store.write { transaction in
      for (id, bucketID, atMs) in [("n_1", box.id, 1), ("n_2", box.id, 5 * day), ("n_3", gone.id, 5 * day)] {
        try transaction.execute(
          """
          INSERT INTO deleted_notifications (user_id, id, bucket_id, is_with_bucket, deleted_at_ms, payload)
          VALUES ('anna', $1, $2, 0, $3, $4)
          """, [.text(id), .text(bucketID), .integer(atMs), .blob([])])
        try transaction.execute(
          """
          INSERT INTO deliveries (user_id, notification_id, at_ms, device_id, outcome, reason, push_id)
          VALUES ('anna', $1, $2, $3, 1, '', '')
          """, [.text(kept.id), .integer(atMs), .text(id)])
        try transaction.execute(
          "INSERT INTO action_runs (user_id, id, notification_id, created_at_ms, payload) VALUES ('anna', $1, 'n', $2, $3)",
          [.text(id), .integer(atMs), .blob([])])
      }
      try transaction.execute("UPDATE users SET deleted_count = 3 WHERE user_id = 'anna'")
      try transaction.execute("UPDATE buckets SET deleted_at_ms = 2 WHERE id = $1", [.text(gone.id)])
      try transaction.execute(
        """
        INSERT INTO publish_keys (id, owner_id, bucket_id, name, hint, secret_hash, created_at_ms)
        VALUES ('k', 'anna', $1, '', '', $2, 1)
        """, [.text(gone.id), .blob([1])])
    }
    var rows = NotificationRetention(store: component.store, notifier: component.notifier)
    rows.batchRows = 2
    #expect(try await rows.purge(nowMs: 30 * day) == 0)
    // One deleted notification, a bucket with a notification and a key, a delivery, a run.
    #expect(try await rows.purge(nowMs: 30 * day + 3) == 6)
    #expect(try number("SELECT count(*) FROM deleted_notifications", component) == 1)
    #expect(try number("SELECT deleted_count FROM users", component) == 1)
    #expect(try number("SELECT count(*) FROM buckets", component) == 1)
    #expect(try number("SELECT count(*) FROM publish_keys", component) == 0)
    #expect(try number("SELECT count(*) FROM deliveries", component) == 2)
    #expect(try number("SELECT count(*) FROM action_runs", component) == 2)
    #expect(try await service.all(anna).map(\.id) == [kept.id])
    await component.close()
  }
}
