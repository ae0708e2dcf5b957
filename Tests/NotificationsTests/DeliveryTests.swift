import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct DeliveryTests {
  private func explain(_ id: String, _ component: NotificationsComponent) async throws -> [DeliveryOutcome] {
    try await component.service.explainDelivery(.init(notificationId: id), context: anna).records.map(\.outcome)
  }

  private func get(_ id: String, _ component: NotificationsComponent) async throws -> Notification {
    let request = GetNotificationRequest(notificationId: id)
    return try #require(try await component.service.getNotification(request, context: anna).notification)
  }

  @Test func decisionIsPure() {
    func decide(
      _ priority: Notification.Priority = .normal, muted: Bool = false, snooze: Int64? = nil,
      quiet: [ClosedRange<Int64>] = []
    ) -> DeliveryDecision {
      DeliveryDecision.decide(priority: priority, isMuted: muted, snoozedUntilMs: snooze, nowMs: 100) { now in
        quiet.first { $0.contains(now) }?.upperBound.advanced(by: 1)
      }
    }
    #expect(decide() == .send)
    #expect(decide(.noPush) == .suppress(.noPush))
    #expect(decide(muted: true) == .suppress(.muted))
    #expect(decide(.critical, muted: true, snooze: 500, quiet: [0...900]) == .send)
    #expect(decide(snooze: 100) == .send)
    #expect(decide(snooze: 101) == .hold(untilMs: 101, .heldBySnooze))
    #expect(decide(quiet: [50...199]) == .hold(untilMs: 200, .heldByQuietHours))
    #expect(decide(snooze: 300, quiet: [250...399]) == .hold(untilMs: 400, .heldBySnooze))
    #expect(decide(snooze: 300, quiet: [50...199]) == .hold(untilMs: 300, .heldBySnooze))
  }

  @Test func quietHoursHoldAndReleaseInOrder() async throws {
    let fixture = try Fixture()
    // 2026-11-20 23:30 in Rome.
    fixture.clock.nowMs = 1_795_213_800_000
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    var settings = UpdateUserSettingsRequest(settings: UserSettings())
    settings.settings?.timeZone = "Europe/Rome"
    settings.settings?.quietHours = QuietHours()
    let window = QuietWindow(start: "22:00", end: "07:00")
    settings.settings?.quietHours?.windows = [window]
    _ = try await component.service.updateUserSettings(settings, context: anna)
    var held: [String] = []
    for index in 0..<3 { held.append(try await component.service.make("n\(index)", in: box.id, anna).id) }
    let critical = try await publish(in: box.id, component) { $0.priority = .critical }
    #expect(critical.deliveryState == .sent)
    let first = try await get(held[0], component)
    #expect(first.deliveryState == .held && first.sendTime == nil)
    #expect(first.releaseTime == ProtoTimestamp(millisecondsSince1970: 1_795_240_800_000))
    #expect(try await explain(held[0], component) == [.heldByQuietHours])
    // Read before its release: it is not handed over.
    try await component.service.mark([held[1]], isRead: true, anna)
    #expect(try await component.timers.runDue() == 0)
    fixture.clock.nowMs = 1_795_213_800_000 + 27_000_000
    let before = try await component.service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna")
    #expect(try await component.timers.runDue() == 2)
    let alerts = try await component.service.repository.changes(after: before, user: "anna", rowsMax: 10)
    #expect(alerts.filter(\.isAlert).map(\.notificationID) == [held[0], held[2]])
    #expect(try await get(held[0], component).deliveryState == .sent)
    #expect(try await explain(held[0], component) == [.heldByQuietHours, .handedOver])
    #expect(try await explain(held[1], component) == [.heldByQuietHours, .obsolete])
    #expect(try await explain(critical.id, component) == [.handedOver])
    await component.close()
  }

  @Test func endOfHoldReasonReleasesAtOnce() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    try await component.service.snooze(box.id, until: fixture.clock.time(afterMs: 3_600_000), anna)
    let one = try await component.service.make("n", in: box.id, anna)
    #expect(one.deliveryState == .held)
    try await component.service.snooze(box.id, until: nil, anna)
    #expect(try await component.timers.runDue() == 1)
    #expect(try await get(one.id, component).deliveryState == .sent)
    let mute = UpdateBucketSettingsRequest(settings: BucketSettings(bucketId: box.id, isMuted: true))
    _ = try await component.service.updateBucketSettings(mute, context: anna)
    let muted = try await component.service.make("m", in: box.id, anna)
    #expect(muted.deliveryState == .suppressed && muted.sendTime == nil)
    #expect(try await explain(muted.id, component) == [.muted])
    await component.close()
  }

  @Test func scheduledNotificationsAreDeliveredAcrossRestart() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let dueMs = fixture.clock.nowMs + 3_600_000
    let scheduled = try await publish(in: box.id, component) {
      $0.deliverTime = ProtoTimestamp(millisecondsSince1970: dueMs)
    }
    let dropped = try await publish(in: box.id, component) {
      $0.deliverTime = ProtoTimestamp(millisecondsSince1970: dueMs + 1)
    }
    #expect(scheduled.deliveryState == .scheduled)
    #expect(try await component.service.all(anna).isEmpty)
    let list = try await component.service.listScheduledNotifications(.init(), context: anna)
    #expect(list.notifications.map(\.id) == [scheduled.id, dropped.id])
    let stale = await failure {
      try await component.service.cancelScheduledNotification(
        .init(notificationId: dropped.id, etag: "v9"), context: anna)
    }
    #expect(stale?.code == .aborted && stale?.fieldViolations.map(\.field) == ["etag"])
    let cancel = CancelScheduledNotificationRequest(notificationId: dropped.id, etag: dropped.etag)
    #expect(
      await failure { try await component.service.cancelScheduledNotification(cancel, context: bruno) }?.code
        == .notFound)
    _ = try await component.service.cancelScheduledNotification(cancel, context: anna)
    await component.close()
    component = try await fixture.open()
    fixture.clock.nowMs = dueMs + 5
    #expect(try await component.timers.runDue() == 1)
    #expect(try await component.timers.runDue() == 0)
    let arrived = try await component.service.all(anna)
    #expect(arrived.map(\.id) == [scheduled.id])
    #expect(arrived.first?.createTime?.millisecondsSince1970 == dueMs && arrived.first?.deliveryState == .sent)
    #expect(try await explain(scheduled.id, component) == [.scheduled, .handedOver])
    #expect(try await explain(dropped.id, component) == [.scheduled, .cancelled])
    #expect(try await component.service.listScheduledNotifications(.init(), context: anna).notifications.isEmpty)
    let past = await failure {
      try await publish(in: box.id, component) { $0.deliverTime = ProtoTimestamp(millisecondsSince1970: 1_000) }
    }
    #expect(past?.reason == "TIME_PAST" && past?.fieldViolations.first?.field == "notification.deliverTime")
    await component.close()
  }

  @Test func repeatsUntilRead() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    func start() async throws -> Notification {
      try await publish(in: box.id, component) {
        $0.`repeat` = Repeat()
        $0.`repeat`?.every = ProtoDuration(seconds: 300)
        $0.`repeat`?.maxCount = 3
      }
    }
    let endless = try await start()
    let read = try await start()
    for round in 1...6 {
      fixture.clock.advance(by: .seconds(300))
      _ = try await component.timers.runDue()
      if round == 1 { try await component.service.mark([read.id], isRead: true, anna) }
    }
    #expect(try await get(endless.id, component).sendCount == 4)
    #expect(try await get(read.id, component).sendCount == 2)
    #expect(try await explain(endless.id, component) == [.handedOver, .repeated, .repeated, .repeated])
    await component.close()
  }

  @Test func snoozePostponeAndExpiryTakeEffect() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let snoozed = try await component.service.make("s", in: box.id, anna)
    let postponed = try await component.service.make("p", in: box.id, anna)
    let expiring = try await publish(in: box.id, component) {
      $0.expireTime = ProtoTimestamp(millisecondsSince1970: fixture.clock.nowMs + 60_000)
    }
    let release = fixture.clock.time(afterMs: 600_000)
    _ = try await component.service.snoozeNotification(
      .init(notificationId: snoozed.id, releaseTime: release), context: anna)
    let postpone = PostponeNotificationRequest(notificationId: postponed.id, releaseTime: release)
    let first = try await component.service.postponeNotification(postpone, context: anna).notification
    #expect(try await component.service.postponeNotification(postpone, context: anna).notification == first)
    #expect(Set(try await component.service.all(anna) { $0.unreadOnly = true }.map(\.id)) == [snoozed.id, expiring.id])
    fixture.clock.advance(by: .seconds(600))
    #expect(try await component.timers.runDue() == 3)
    #expect(
      Set(try await component.service.all(anna) { $0.unreadOnly = true }.map(\.id)) == [snoozed.id, postponed.id])
    #expect(try await get(postponed.id, component).sendCount == 2)
    #expect(try await explain(expiring.id, component) == [.expired])
    #expect(try await explain(postponed.id, component) == [.handedOver, .postponed, .handedOver])
    // A late repetition does not postpone again what has returned.
    _ = try await component.service.postponeNotification(postpone, context: anna)
    #expect(try await get(postponed.id, component).readTime == nil)
    let absent = PostponeNotificationRequest(notificationId: postponed.id)
    let tooFar = PostponeNotificationRequest(
      notificationId: postponed.id, releaseTime: fixture.clock.time(afterMs: 367 * 86_400_000))
    for request in [absent, tooFar] {
      let error = await failure { try await component.service.postponeNotification(request, context: anna) }
      #expect(error?.fieldViolations.map(\.field) == ["releaseTime"])
    }
    await component.close()
  }

  @Test func collapseKeyReplacesInPlace() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("b", anna)
    let first = try await publish(in: box.id, component) { $0.collapseKey = "k" }
    try await component.service.mark([first.id], isRead: true, anna)
    let second = try await publish(in: box.id, component) {
      $0.collapseKey = "k"
      $0.title = "newer"
    }
    #expect(second.id == first.id && second.readTime == nil && second.sendCount == 2 && second.etag != first.etag)
    #expect(try await component.service.all(anna).map(\.title) == ["newer"])
    #expect(try await component.service.getUnreadCounts(.init(), context: anna).unreadCounts?.total == 1)
    await component.close()
  }

  @Test func replacingHeldNotificationRecordsItsHandOver() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    try await component.service.snooze(box.id, until: fixture.clock.time(afterMs: 3_600_000), anna)
    let held = try await publish(in: box.id, component) { $0.collapseKey = "k" }
    #expect(held.deliveryState == .held)
    fixture.clock.advance(by: .seconds(1))
    let sent = try await publish(in: box.id, component) {
      $0.collapseKey = "k"
      $0.priority = .critical
    }
    #expect(sent.id == held.id && sent.deliveryState == .sent && sent.sendCount == 1)
    #expect(try await explain(held.id, component) == [.heldBySnooze, .handedOver])
    await component.close()
  }

  @Test func inlineMediaAreStoredWhileReferenced() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("b", anna)
    func withPicture() async throws -> Notification {
      try await publish(in: box.id, component) {
        let attachment = Attachment(mediaType: .image, data: Array("picture".utf8), contentType: "image/png")
        $0.attachments = [attachment]
      }
    }
    let one = try await withPicture()
    let two = try await withPicture()
    let attachment = try #require(one.attachments.first)
    #expect(attachment.data.isEmpty && attachment.sizeBytes == 7 && attachment.contentId.utf8.count == 64)
    let get = GetAttachmentContentRequest(notificationId: one.id, contentId: attachment.contentId)
    let content = try await component.service.getAttachmentContent(get, context: anna)
    #expect(content.data == Array("picture".utf8) && content.contentType == "image/png")
    #expect(
      await failure { try await component.service.getAttachmentContent(get, context: bruno) }?.code == .notFound
    )
    // Referring to another notification's content does not grant access to it.
    var update = UpdateNotificationRequest(notification: try await component.service.make("plain", in: box.id, anna))
    update.notification?.attachments = one.attachments
    update.updateMask = ProtoFieldMask(paths: ["attachments"])
    #expect(
      await failure { try await component.service.updateNotification(update, context: anna) }?.reason
        == "CONTENT_NOT_FOUND")
    let big = await failure {
      try await publish(in: box.id, component) {
        let attachment = Attachment(
          mediaType: .file, data: Array(repeating: 1, count: 262_145), contentType: "application/pdf")
        $0.attachments = [attachment]
      }
    }
    #expect(big?.fieldViolations.first?.field == "notification.attachments" && big?.reason == "TOO_LONG")
    _ = two
    await component.close()
  }
}
