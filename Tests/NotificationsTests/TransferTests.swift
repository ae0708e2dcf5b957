import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct TransferTests {
  private func export(_ name: String, _ component: NotificationsComponent) async throws -> [TransferEntry] {
    var entries: [TransferEntry] = []
    try await UserExport(store: component.store, user: name).run { entries.append($0) }
    return entries
  }

  private func bring(
    _ entries: [TransferEntry], to name: String, _ component: NotificationsComponent,
    limits: NotificationsLimits = NotificationsLimits(), nowMs: Int64 = 1_770_000_000_000
  ) async throws -> ImportUserDataResponse {
    var run = UserImport(
      store: component.store, user: name, limits: limits, notifier: component.notifier, clockMs: { nowMs })
    for entry in entries { try await run.add(entry) }
    return try await run.finish()
  }

  private func lines(_ entries: [TransferEntry]) -> [String] { entries.dropFirst().map { $0.jsonString() } }

  private static let data: [UInt8] = Array("a picture".utf8)

  /// Creates settings, buckets, read and unread notifications, an inline medium, automation and a scheduled
  /// notification.
  private func fill(_ component: NotificationsComponent, _ context: CallContext) async throws {
    let service = component.service
    for name in ["mallory", "eve"] {
      _ = try await component.sharing.blockUser(.init(userId: name), context: context)
    }
    var create = bucket("b")
    create.bucket?.description = "described"
    create.bucket?.color = "#00ff00"
    let box = try #require(try await service.createBucket(create, context: context).bucket)
    let other = try await service.makeBucket("other", context)
    var ids: [String] = []
    for index in 0..<230 {
      ids.append(try await service.make("n \(index)", in: index % 3 == 0 ? other.id : box.id, context).id)
    }
    try await service.mark(Array(ids.prefix(40)), isRead: true, context)
    let contentID = try #require(ImportRules.contentID(Self.data))
    let attachment = Attachment(
      mediaType: .image, contentType: "image/png", contentId: contentID, sizeBytes: Int32(Self.data.count))
    let withMedium = Notification(attachments: [attachment])
    let (content, id, boxID) = (withMedium.jsonString(), ids[7], box.id)
    let template = Template(id: SortableID.text(prefix: "t_", timeMs: 5, tail: 1), name: "t", title: "{{x}}")
    let webhook = Webhook(
      id: SortableID.text(prefix: "w_", timeMs: 5, tail: 2), name: "w", method: .post, url: "https://example.org/",
      headers: ["Authorization": "secret"])
    let heartbeat = Heartbeat(
      id: SortableID.text(prefix: "h_", timeMs: 5, tail: 3), name: "h", bucketId: boxID,
      period: ProtoDuration(seconds: 300))
    var scheduled = Notification(
      id: SortableID.text(prefix: "n_", timeMs: 1_770_000_000_000, tail: 9), bucketId: boxID, title: "later",
      priority: .normal, createTime: ProtoTimestamp(millisecondsSince1970: 1_770_000_000_000), deliveryState: .scheduled
    )
    scheduled.updateTime = scheduled.createTime
    scheduled.deliverTime = ProtoTimestamp(millisecondsSince1970: 1_780_000_000_000)
    scheduled.etag = "v1"
    let payloads: [(AutomationKind, String, [UInt8])] = [
      (.template, template.id, template.jsonUTF8Bytes()), (.webhook, webhook.id, webhook.jsonUTF8Bytes()),
      (.heartbeat, heartbeat.id, heartbeat.jsonUTF8Bytes()),
    ]
    let (later, user) = (scheduled, try context.requireUser())
    _ = try await component.store.write { transaction in
      let key: [SQLValue] = [.text(user), .text(id)]
      try transaction.execute(
        """
        UPDATE notifications SET content_json = $3, collapse_key = 'k', expires_at_ms = 1790000000000, send_count = 2
        WHERE user_id = $1 AND id = $2
        """, key + [.text(content)])
      try transaction.execute(
        "INSERT INTO contents (content_id, data) VALUES ($1, $2)", [.text(contentID), .blob(Self.data)])
      try transaction.execute(
        "INSERT INTO content_refs (user_id, notification_id, content_id) VALUES ($1, $2, $3)", key + [.text(contentID)])
      try transaction.execute(
        """
        UPDATE buckets SET is_muted = 1, max_count = 1000, quiet_hours_json = '{"windows":[{"start":"22:00","end":"06:00"}]}'
        WHERE id = $1
        """, [.text(boxID)])
      try transaction.execute(
        "UPDATE users SET settings_json = '{\"timeZone\":\"Europe/Rome\",\"summarySize\":4}' WHERE user_id = $1",
        [.text(user)])
      for (kind, id, payload) in payloads {
        try transaction.execute(
          "INSERT INTO automation (user_id, kind, id, payload) VALUES ($1, $2, $3, $4)",
          [.text(user), .integer(kind.rawValue), .text(id), .blob(payload)])
      }
      try transaction.execute(
        "INSERT INTO scheduled (user_id, id, deliver_at_ms, payload) VALUES ($1, $2, 1780000000000, $3)",
        [.text(user), .text(later.id), .blob(later.jsonUTF8Bytes())])
    }
  }

  @Test func exportIsUnchangedAfterImport() async throws {
    let component = try await Fixture().open()
    try await fill(component, anna)
    let first = try await export("anna", component)
    guard case .header(let header)? = first.first?.entry else { Issue.record("no header"); return }
    #expect(header.formatVersion == 1 && header.userId == "anna")
    let imported = try await bring(first, to: "bruno", component)
    #expect(imported.errors == [] && imported.refusedCount == 0 && imported.keptCount == 0)
    #expect(Int(imported.importedCount) == first.count - 1)
    let second = try await export("bruno", component)
    #expect(lines(second) == lines(first))
    #expect(first.contains { $0.jsonString().contains("Authorization") })
    #expect(first.count { $0.jsonString().contains("blockedUser") } == 2)
    #expect(!first.contains { $0.jsonString().contains("secret") })
    // Repeating the import changes nothing.
    let again = try await bring(first, to: "bruno", component)
    #expect(again.importedCount == 0 && Int(again.keptCount) == first.count - 1)
    #expect(lines(try await export("bruno", component)) == lines(first))
    // Imported notifications are found, counted and logged like published ones.
    let service = component.service
    #expect(try await service.search("\"n 7\"", bruno) == ["n 7"])
    let counts = try await service.getUnreadCounts(GetUnreadCountsRequest(), context: bruno).unreadCounts
    #expect(counts?.total == 190)
    let timers = try component.store.readBlocking { transaction in
      try transaction.query("SELECT kind, due_ms FROM timers WHERE user_id = 'bruno' ORDER BY kind") {
        [try $0.integer(0), try $0.integer(1)]
      }
    }
    #expect(timers == [[1, 1_780_000_000_000], [4, 1_790_000_000_000]])
    await component.close()
  }

  @Test func rejectedEntriesAreReportedAndDoNotStopImport() async throws {
    let component = try await Fixture().open()
    var header = ExportHeader(formatVersion: 1)
    var box = Bucket(
      id: SortableID.text(prefix: "b_", timeMs: 5, tail: 1), name: "b",
      createTime: ProtoTimestamp(millisecondsSince1970: 5))
    box.updateTime = box.createTime
    func one(_ tail: UInt64, _ change: (inout ExportedNotification) -> Void) -> TransferEntry {
      let notification = Notification(
        id: SortableID.text(prefix: "n_", timeMs: 5, tail: tail), bucketId: box.id, title: "n",
        createTime: box.createTime, updateTime: box.createTime)
      var exported = ExportedNotification(notification: notification)
      change(&exported)
      return .of(.notification(exported))
    }
    let medium = Attachment(mediaType: .image, contentType: "image/png", contentId: "ab")
    let entries: [TransferEntry] = [
      .of(.header(header)), .of(.bucket(box)), one(1) { _ in },
      one(2) { $0.notification?.title = String(repeating: "x", count: 257) },
      one(3) { $0.notification?.id = "n_1" }, one(4) { $0.notification?.bucketId = "b_none" },
      one(5) { $0.notification?.createTime = nil }, one(6) { $0.notification?.expireTime = box.createTime },
      one(7) { $0.notification?.attachments = [medium] }, TransferEntry(),
      one(8) { $0.notification?.collapseKey = "k" },
      one(9) { $0.notification?.collapseKey = "k" }, one(10) { $0.notification = nil },
      one(11) { $0.notification?.createTime = ProtoTimestamp(seconds: -1) },
      one(12) {
        $0.notification?.attachments = [
          Attachment(mediaType: .image, contentType: String(repeating: "x", count: 128), contentId: "ab")
        ]
      },
    ]
    let result = try await bring(entries, to: "anna", component)
    #expect(result.importedCount == 3 && result.keptCount == 0 && result.refusedCount == 11)
    #expect(
      result.errors.map { "\($0.index) \($0.error?.reason ?? "")" } == [
        "3 TOO_LONG", "4 ID_INVALID", "5 BUCKET_NOT_FOUND", "6 REQUIRED", "7 OUT_OF_RANGE", "8 CONTENT_INVALID",
        "9 REQUIRED", "11 COLLAPSE_KEY_TAKEN", "12 FIELDS_INVALID", "13 OUT_OF_RANGE",
        "14 FIELDS_INVALID",
      ])
    #expect(result.errors.first?.error?.violations.first?.field == "entry.notification.notification.title")
    header.formatVersion = 2
    let newer = await failure { try await bring([.of(.header(header))], to: "anna", component) }
    #expect(newer?.code == .failedPrecondition && newer?.reason == "FORMAT_VERSION_UNKNOWN")
    await component.close()
  }

  @Test func importedBlocksTakeEffect() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("b", user("mallory"))
    _ = try await component.sharing.invite("anna", to: box.id, by: "mallory")
    let entries = ["anna", "mallory"].map { name in
      let blocked = BlockedUser(userId: name, createTime: ProtoTimestamp(millisecondsSince1970: 5))
      return TransferEntry.of(.blockedUser(blocked))
    }
    let result = try await bring(entries, to: "anna", component)
    #expect(result.errors.map(\.index) == [0])
    #expect(result.errors.first?.error?.violations.map(\.field) == ["entry.blockedUser.userId"])
    #expect(result.errors.first?.error?.reason == "OUT_OF_RANGE")
    #expect(result.importedCount == 1)
    #expect(try await component.sharing.received(by: "anna").isEmpty)
    await component.close()
  }

  @Test func importsRespectScheduledAndAutomationLimits() async throws {
    let component = try await Fixture().open()
    var box = Bucket(
      id: SortableID.text(prefix: "b_", timeMs: 5, tail: 1), name: "b",
      createTime: ProtoTimestamp(millisecondsSince1970: 5))
    box.updateTime = box.createTime
    var entries: [TransferEntry] = [.of(.bucket(box))]
    for index in 0..<4 {
      let scheduled = Notification(
        id: SortableID.text(prefix: "n_", timeMs: 1_780_000_000_000, tail: UInt64(index)), bucketId: box.id,
        title: "later", createTime: box.createTime, updateTime: box.createTime,
        deliverTime: ProtoTimestamp(millisecondsSince1970: 1_780_000_000_000))
      let exported = ExportedNotification(notification: scheduled)
      entries.append(.of(.scheduled(exported)))
    }
    for index in 0..<(AutomationKind.countMax + 2) {
      let template = Template(
        id: SortableID.text(prefix: "t_", timeMs: 5, tail: UInt64(index)), name: "t", title: "{{x}}")
      entries.append(.of(.template(template)))
    }
    var limits = NotificationsLimits()
    limits.scheduledPerUserMax = 3
    let result = try await bring(entries, to: "anna", component, limits: limits)
    #expect(
      result.errors.map { "\($0.index) \($0.error?.reason ?? "")" } == [
        "4 SCHEDULED_EXHAUSTED", "205 AUTOMATION_EXHAUSTED", "206 AUTOMATION_EXHAUSTED",
      ])
    #expect(result.importedCount == 204)
    // Existing entries do not count as new ones.
    let again = try await bring(entries, to: "anna", component, limits: limits)
    #expect(again.keptCount == 204 && again.errors.map(\.index) == [4, 205, 206])
    await component.close()
  }

  @Test func importsRespectLimits() async throws {
    let component = try await Fixture().open()
    try await fill(component, anna)
    var limits = NotificationsLimits()
    limits.bucketsPerUserMax = 1
    limits.notificationsPerUserMax = 100
    let result = try await bring(try await export("anna", component), to: "bruno", component, limits: limits)
    let reasons = Set(result.errors.map { $0.error?.reason ?? "" })
    #expect(reasons.isSubset(of: ["BUCKETS_EXHAUSTED", "BUCKET_NOT_FOUND", "NOTIFICATIONS_EXHAUSTED"]))
    #expect(reasons.contains("BUCKETS_EXHAUSTED") && result.errors.count == UserImport.errorsMax)
    #expect(try await component.service.all(bruno, pageSize: 200).count == 100)
    await component.close()
  }
}
