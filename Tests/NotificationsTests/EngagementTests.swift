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

@Suite struct EngagementTests {
  private struct Setting {
    let fixture: Fixture
    let component: NotificationsComponent
    let bucket: Bucket
    let notification: Notification

    init(_ limits: NotificationsLimits = NotificationsLimits()) async throws {
      fixture = try Fixture(limits)
      component = try await fixture.open()
      bucket = try await component.service.makeBucket("b", anna)
      notification = try await component.service.make("n", in: bucket.id, anna)
    }

    /// The receipt of a push to a device.
    func receipt(_ user: String = "anna", _ id: String? = nil, device: String = "p_1", push: String = "push-1") throws
      -> String
    {
      let alert = "\(id ?? notification.id):1"
      let secret = component.engagement.receiptSecret
      let key = try #require(PushReceipt.alertKey(userID: user, alertID: alert, secret: secret))
      let receipt = PushReceipt(userID: user, alertID: alert, deviceID: device, pushID: push)
      return try #require(receipt.text(alertKey: key))
    }

    /// Reports over receipts, without a credential. Returns `new`, `known`, or the reason of each entry.
    func report(_ reports: ReceiptReport...) async throws -> [String] {
      let response = try await component.engagement.batchReportEngagement(.init(reports: reports), context: nobody)
      return response.results.map { result in
        switch result.outcome {
        case .engagement(let engagement)?: engagement.isNew ? "new" : "known"
        case .error(let error)?: error.reason
        case nil: ""
        }
      }
    }

    func record(_ context: CallContext, _ reports: EngagementReport...) async throws -> [String] {
      let response = try await component.engagement.batchRecordEngagement(.init(reports: reports), context: context)
      return response.results.map { result in
        switch result.outcome {
        case .engagement(let engagement)?: engagement.isNew ? "new" : "known"
        case .error(let error)?: error.reason
        case nil: ""
        }
      }
    }

    func engagement(_ context: CallContext = anna) async throws -> NotificationEngagement {
      try #require(
        try await component.engagement.getNotificationEngagement(
          .init(notificationId: notification.id), context: context
        ).engagement)
    }

    func list(_ context: CallContext = anna) async throws -> ListBucketEngagementResponse {
      try await component.engagement.listBucketEngagement(.init(bucketId: bucket.id), context: context)
    }
  }

  @Test("a device that has only the push reports, and reports again without an effect")
  func receiptsAreReportedOnce() async throws {
    let setting = try await Setting()
    let receipt = try setting.receipt()
    #expect(
      try await setting.report(.init(receipt: receipt, kind: .received), .init(receipt: receipt, kind: .opened)) == [
        "new", "new",
      ])
    #expect(
      try await setting.report(
        .init(receipt: receipt, kind: .received), .init(receipt: receipt, kind: .acted, actionId: "0"),
        .init(receipt: receipt, kind: .acted, actionId: "1")) == ["known", "new", "new"])
    let found = try await setting.engagement()
    #expect(found.counts == EngagementCounts(receivedCount: 1, openedCount: 1, actedCount: 1))
    #expect(found.recipientCount == 1 && found.updateTime != nil)
    #expect(found.actions.map { "\($0.actionId) \($0.recipientCount)" } == ["0 1", "1 1"])
    let records = try await setting.component.service.explainDelivery(
      .init(notificationId: setting.notification.id), context: anna
    ).records
    #expect(records.map(\.outcome) == [.handedOver, .received, .opened, .acted, .acted])
    #expect(records.dropFirst().allSatisfy { $0.deviceId == "p_1" && $0.pushId == "push-1" })
    #expect(records.last?.reason == "1")
    await setting.component.close()
  }

  @Test("a receipt that is altered, foreign or unknown permits nothing")
  func forgedReceiptsAreRefused() async throws {
    let setting = try await Setting()
    let other = try await Setting()
    let good = try setting.receipt()
    var bytes = try #require(Base64URL.decode(good))
    for index in bytes.indices {
      bytes[index] ^= 1
      let altered = Base64URL.encode(bytes)
      #expect(try await setting.report(.init(receipt: altered, kind: .opened)) == ["RECEIPT_INVALID"], "\(index)")
      bytes[index] ^= 1
    }
    let foreign = try other.receipt("anna", setting.notification.id)
    let cut = String(good.dropLast(4))
    for receipt in [foreign, cut, "x", String(repeating: "A", count: 600), "%%%"] {
      #expect(try await setting.report(.init(receipt: receipt, kind: .opened)) == ["RECEIPT_INVALID"])
    }
    // A valid receipt of a notification that no longer exists.
    let gone = try setting.receipt("anna", "n_0000000000000000000000")
    #expect(try await setting.report(.init(receipt: gone, kind: .opened)) == ["NOTIFICATION_NOT_FOUND"])
    #expect(try await setting.engagement().counts == EngagementCounts())
    await setting.component.close()
    await other.component.close()
  }

  @Test("entries are judged one by one, and name their fields")
  func entriesAreJudgedAlone() async throws {
    let setting = try await Setting()
    let receipt = try setting.receipt()
    let request = BatchReportEngagementRequest(reports: [
      .init(receipt: receipt), .init(receipt: receipt, kind: .acted),
      .init(receipt: receipt, kind: .opened, actionId: "0"),
      .init(kind: .opened), .init(receipt: receipt, kind: .opened),
    ])
    let results = try await setting.component.engagement.batchReportEngagement(request, context: nobody).results
    let fields = results.map { result -> String in
      if case .error(let error)? = result.outcome { error.violations.map(\.field).joined(separator: ",") } else { "" }
    }
    #expect(
      fields == ["reports[0].kind", "reports[1].actionId", "reports[2].actionId", "reports[3].receipt", ""])
    #expect(
      await refusal { try await setting.component.engagement.batchReportEngagement(.init(), context: nobody) }
        .hasPrefix("INVALID_ARGUMENT"))
    let many = BatchReportEngagementRequest(
      reports: .init(repeating: .init(receipt: receipt, kind: .opened), count: 101))
    #expect(
      await refusal { try await setting.component.engagement.batchReportEngagement(many, context: nobody) }
        == "INVALID_ARGUMENT TOO_MANY")
    await setting.component.close()
  }

  @Test("recipients count once, whatever the number of their devices")
  func recipientsCountOnce() async throws {
    let setting = try await Setting()
    try await setting.component.sharing.share(setting.bucket.id, with: "bruno", as: .reader, by: "anna")
    try await setting.component.sharing.share(setting.bucket.id, with: "carla", as: .publisher, by: "anna")
    let made = try await setting.component.service.make("to all", in: setting.bucket.id, anna)
    for (user, devices) in [("anna", 2), ("bruno", 3), ("carla", 1)] {
      for device in 0..<devices {
        let receipt = try setting.receipt(user, made.id, device: "p_\(device)")
        #expect(try await setting.report(.init(receipt: receipt, kind: .received)) == ["new"])
      }
    }
    let receipt = try setting.receipt("bruno", made.id)
    _ = try await setting.report(.init(receipt: receipt, kind: .acted, actionId: "tap"))
    for context in [anna, user("carla")] {
      let found = try #require(
        try await setting.component.engagement.getNotificationEngagement(
          .init(notificationId: made.id), context: context
        ).engagement)
      #expect(found.counts == EngagementCounts(receivedCount: 3, actedCount: 1) && found.recipientCount == 3)
    }
    let listed = try await setting.list()
    #expect(listed.notifications.map(\.notificationId) == [made.id])
    #expect(listed.totals == EngagementCounts(receivedCount: 3, actedCount: 1))
    // A reader sees only the own copy.
    for call in [
      { _ = try await setting.list(bruno) },
      {
        _ = try await setting.component.engagement.getNotificationEngagement(
          .init(notificationId: made.id), context: bruno)
      },
      {
        _ = try await setting.component.engagement.listEngagementChanges(
          .init(bucketId: setting.bucket.id), context: bruno)
      },
    ] as [() async throws -> Void] {
      #expect(await refusal(call) == "PERMISSION_DENIED ROLE_MISSING")
    }
    #expect(await refusal { try await setting.list(user("dora")) } == "NOT_FOUND BUCKET_NOT_FOUND")
    let explained = try await setting.component.service.explainDelivery(.init(notificationId: made.id), context: bruno)
    #expect(explained.records.filter { $0.outcome == .received }.count == 3)
    await setting.component.close()
  }

  @Test("an app with a credential reports about its user's notifications only")
  func ownNotificationsAreRecorded() async throws {
    let setting = try await Setting()
    let report = EngagementReport(notificationId: setting.notification.id, deviceId: "watch", kind: .dismissed)
    #expect(try await setting.record(anna, report, report) == ["new", "known"])
    #expect(try await setting.record(bruno, report) == ["NOTIFICATION_NOT_FOUND"])
    #expect(
      await refusal { try await setting.record(nobody, report) } == "UNAUTHENTICATED PRINCIPAL_MISSING")
    #expect(try await setting.engagement().counts == EngagementCounts(dismissedCount: 1))
    await setting.component.close()
  }

  @Test("one copy has a limited number of reports")
  func reportsOfACopyAreLimited() async throws {
    let setting = try await Setting()
    for device in 0..<EngagementRules.reportsPerCopyMax {
      let report = EngagementReport(notificationId: setting.notification.id, deviceId: "\(device)", kind: .opened)
      #expect(try await setting.record(anna, report) == ["new"])
    }
    let more = EngagementReport(notificationId: setting.notification.id, deviceId: "more", kind: .opened)
    #expect(try await setting.record(anna, more) == ["ENGAGEMENT_EXHAUSTED"])
    #expect(try await setting.engagement().counts?.openedCount == 1)
    await setting.component.close()
  }

  @Test("a device's wrong clock does not lose its report")
  func timesAreClamped() {
    #expect(EngagementRules.timeMs(nil, publishedMs: 10, nowMs: 20) == 20)
    #expect(EngagementRules.timeMs(15, publishedMs: 10, nowMs: 20) == 15)
    #expect(EngagementRules.timeMs(5, publishedMs: 10, nowMs: 20) == 10)
    #expect(EngagementRules.timeMs(99, publishedMs: 10, nowMs: 20) == 20)
    #expect(EngagementRules.timeMs(99, publishedMs: 30, nowMs: 20) == 30)
  }

  @Test("reports end 30 days after publication, and their rows are purged")
  func oldReportsArePurged() async throws {
    let setting = try await Setting()
    let receipt = try setting.receipt()
    let token = try await setting.list().resumeToken
    #expect(try await setting.report(.init(receipt: receipt, kind: .received)) == ["new"])
    setting.fixture.clock.advance(by: .milliseconds(EngagementRules.retentionMs + 1))
    #expect(try await setting.report(.init(receipt: receipt, kind: .opened)) == ["REPORT_TOO_LATE"])
    _ = try await setting.component.maintain(nowMs: setting.fixture.clock.nowMs)
    // A repetition after the purge does not count again.
    #expect(try await setting.report(.init(receipt: receipt, kind: .received)) == ["REPORT_TOO_LATE"])
    let listed = try await setting.list()
    #expect(listed.notifications.isEmpty && listed.totals?.receivedCount == 1)
    let stale = ListEngagementChangesRequest(bucketId: setting.bucket.id, resumeToken: token)
    #expect(
      await refusal { try await setting.component.engagement.listEngagementChanges(stale, context: anna) }
        == "OUT_OF_RANGE TOKEN_TOO_OLD")
    await setting.component.close()
  }

  @Test("rows end with their notification and its bucket")
  func rowsEndWithTheirNotification() async throws {
    let setting = try await Setting()
    _ = try await setting.report(.init(receipt: try setting.receipt(), kind: .received))
    _ = try await setting.component.service.deleteBucket(.init(bucketId: setting.bucket.id), context: anna)
    setting.fixture.clock.advance(by: .milliseconds(EngagementRules.retentionMs + 1))
    _ = try await setting.component.maintain(nowMs: setting.fixture.clock.nowMs)
    let left = try setting.component.store.readBlocking { transaction in
      try ["engagement", "engagement_counts", "deliveries"].map { table in
        try transaction.queryOne("SELECT count(*) FROM \(table)") { try $0.integer(0) }
      }
    }
    #expect(left == [0, 0, 0])
    await setting.component.close()
  }

  @Test("publishers list and watch new reports without names, and resume")
  func changesAreListedAndWatched() async throws {
    let setting = try await Setting()
    let engagement = setting.component.engagement
    let request = ListEngagementChangesRequest(bucketId: setting.bucket.id, pageSize: 1)
    var page = try await engagement.listEngagementChanges(request, context: anna)
    #expect(page.changes.isEmpty && !page.hasMore)
    let start = page.resumeToken
    let receipt = try setting.receipt()
    _ = try await setting.report(
      .init(receipt: receipt, kind: .received), .init(receipt: receipt, kind: .received),
      .init(receipt: receipt, kind: .acted, actionId: "0"))
    var kinds: [EngagementKind] = []
    repeat {
      page = try await engagement.listEngagementChanges(
        .init(bucketId: setting.bucket.id, resumeToken: page.resumeToken, pageSize: 1), context: anna)
      kinds += page.changes.map(\.kind)
    } while page.hasMore
    #expect(kinds == [.received, .acted])
    #expect(page.changes.last?.counts == EngagementCounts(receivedCount: 1, actedCount: 1))
    #expect(page.changes.last?.actionId == "0" && page.changes.last?.notificationId == setting.notification.id)
    let watch = EngagementWatch(repository: engagement.repository, hub: engagement.hub, pageRows: 1)
    var events: [String] = []
    struct Enough: Error {}
    let resumed = WatchEngagementChangesRequest(bucketId: setting.bucket.id, resumeToken: start)
    await #expect(throws: Enough.self) {
      try await watch.run(resumed, user: "anna") { response in
        if case .change(let change)? = response.event {
          events.append("\(change.kind)")
        } else {
          events.append("started")
        }
        if events.count == 3 { throw Enough() }
      }
    }
    #expect(events == ["started", "received", "acted"])
    // A token is valid for its bucket and user only.
    for token in ["x", setting.component.service.watchToken] where !token.isEmpty {
      let wrong = ListEngagementChangesRequest(bucketId: setting.bucket.id, resumeToken: token)
      #expect(
        await refusal { try await engagement.listEngagementChanges(wrong, context: anna) }
          == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
    }
    await setting.component.close()
  }

  @Test("pages of a bucket's counts are complete")
  func countsHavePages() async throws {
    let setting = try await Setting()
    var ids: [String] = []
    for index in 0..<5 {
      let made = try await setting.component.service.make("\(index)", in: setting.bucket.id, anna)
      ids.insert(made.id, at: 0)
      _ = try await setting.record(anna, .init(notificationId: made.id, kind: .opened))
    }
    var request = ListBucketEngagementRequest(bucketId: setting.bucket.id, pageSize: 2)
    var found: [String] = []
    repeat {
      let page = try await setting.component.engagement.listBucketEngagement(request, context: anna)
      #expect(page.totals?.openedCount == 5)
      found += page.notifications.map(\.notificationId)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(found == ids)
    await setting.component.close()
  }

  @Test("every alert has a key for its receipts")
  func alertsHaveReceiptKeys() async throws {
    let fixture = try Fixture()
    let pusher = RecordingPusher()
    let component = try await NotificationsComponent(
      store: fixture.configuration, pusher: pusher, nowMs: { fixture.clock.nowMs })
    let box = try await component.service.makeBucket("b", anna)
    let made = try await component.service.make("n", in: box.id, anna)
    while try await #require(component.alerts).step() > 0 {}
    let alert = try #require(pusher.alerts.first)
    let receipt = PushReceipt(userID: "anna", alertID: alert.alertId, deviceID: "p_1", pushID: "1")
    let text = try #require(receipt.text(alertKey: alert.receiptKey))
    let parsed = PushReceipt(text, secret: component.engagement.receiptSecret)
    #expect(parsed == receipt && parsed?.notificationID == made.id)
    // The key survives a restart.
    await component.close()
    let again = try await fixture.open()
    #expect(PushReceipt(text, secret: again.engagement.receiptSecret) == receipt)
    await again.close()
  }

  @Test("a receipt that is too long for its parts does not exist")
  func receiptsAreBounded() throws {
    let long = String(repeating: "u", count: 256)
    #expect(PushReceipt.alertKey(userID: long, alertID: "a", secret: [1]) == nil)
    let receipt = PushReceipt(userID: "a", alertID: "b", deviceID: long, pushID: "c")
    #expect(receipt.text(alertKey: [UInt8](repeating: 1, count: 32)) == nil)
    let most = String(repeating: "u", count: 128)
    let wide = PushReceipt(userID: most, alertID: most, deviceID: most, pushID: String(repeating: "0", count: 36))
    #expect(try #require(wide.text(alertKey: [UInt8](repeating: 1, count: 32))).utf8.count <= PushReceipt.sizeMax)
  }
}

extension NotificationsService {
  /// A token of another watch.
  fileprivate var watchToken: String { ResumeToken(epoch: 1, sequence: 0).text(user: "anna") }
}
