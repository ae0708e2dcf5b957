import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct HeartbeatServiceTests {
  private func missed(_ id: String, _ component: NotificationsComponent, user: String = "anna", nowMs: Int64)
    async throws
    -> Notification?
  {
    try await component.store.write { transaction in
      try SQLiteAutomationRepository.missed(id, user: user, nowMs: nowMs, transaction, component.notifier)?.draft
    }
  }

  @Test func isDueAfterPeriodAndGraceAndPublishesOnce() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.automation
    let box = try await component.service.makeBucket("b", anna)
    let startMs = fixture.clock.nowMs
    let made = try await service.make(heartbeat("backup", in: box.id), anna)
    #expect(made.id.hasPrefix("h_") && made.lastBeatTime == nil && !made.isMissing)
    #expect(made.dueTime?.millisecondsSince1970 == startMs + 360_000)
    #expect(try component.timer(of: made.id, user: "anna") == startMs + 360_000)
    // Too early, then due, then already missing.
    #expect(try await missed(made.id, component, nowMs: startMs + 359_999) == nil)
    #expect(try component.timer(of: made.id, user: "anna") == startMs + 360_000)
    let draft = try #require(try await missed(made.id, component, nowMs: startMs + 360_000))
    #expect(draft.title == "backup: no beat" && draft.bucketId == box.id && draft.priority == .normal)
    #expect(try await missed(made.id, component, nowMs: startMs + 999_000) == nil)
    #expect(try component.timer(of: made.id, user: "anna") == nil)
    let missing = try #require(try await service.listHeartbeats(.init(), context: anna).heartbeats.first)
    #expect(missing.isMissing && missing.dueTime == nil)
    // A beat ends the missing state.
    fixture.clock.advance(by: .seconds(1000))
    let beat = BeatRequest(heartbeatId: made.id)
    let beaten = try #require(try await service.beat(beat, context: anna).heartbeat)
    #expect(!beaten.isMissing && beaten.lastBeatTime?.millisecondsSince1970 == startMs + 1_000_000)
    #expect(try component.timer(of: made.id, user: "anna") == startMs + 1_360_000)
    #expect(try await missed(made.id, component, nowMs: startMs + 1_360_000) != nil)
    // A deleted heartbeat has no timer, and a late timer has no effect.
    _ = try await service.beat(beat, context: anna)
    _ = try await service.deleteHeartbeat(.init(heartbeatId: made.id), context: anna)
    #expect(try component.timer(of: made.id, user: "anna") == nil)
    #expect(try await missed(made.id, component, nowMs: .max) == nil)
    let gone = await failure { try await service.beat(beat, context: anna) }
    #expect(gone?.code == .notFound && faults(gone) == ["heartbeatId HEARTBEAT_NOT_FOUND"])
    await component.close()
  }

  @Test func publishesItsConfiguredNotification() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    var request = heartbeat("h", in: box.id)
    let given = Notification(
      id: "n_x", bucketId: "b_other", title: "Own", body: "Body", priority: .critical, collapseKey: "k")
    request.heartbeat?.notification = given
    let made = try await component.automation.make(request, anna)
    #expect(made.notification?.id == "" && made.notification?.bucketId == "")
    let draft = try #require(
      try await missed(made.id, component, nowMs: fixture.clock.nowMs + 360_000))
    #expect(draft.collapseKey == "k")
    #expect(draft.title == "Own" && draft.body == "Body" && draft.priority == .critical && draft.bucketId == box.id)
    await component.close()
  }

  @Test func invalidHeartbeatsAreRejected() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    let box = try await component.service.makeBucket("b", anna)
    var bad = heartbeat("", in: "", period: 0, grace: -1)
    var notification = Notification(
      title: String(repeating: "x", count: 257), actions: [Action()],
      expireTime: ProtoTimestamp(millisecondsSince1970: 1), deliverTime: ProtoTimestamp(millisecondsSince1970: 1))
    var attachment = CampanileAPI.Attachment()
    attachment.mediaType = .image
    attachment.url = "https://example.org/a.png"
    attachment.data = [1]
    notification.attachments = [attachment]
    bad.heartbeat?.notification = notification
    let error = await failure { try await service.createHeartbeat(bad, context: anna) }
    let told = Set(faults(error))
    #expect(
      told.isSuperset(of: [
        "heartbeat.name REQUIRED", "heartbeat.bucketId REQUIRED", "heartbeat.period OUT_OF_RANGE",
        "heartbeat.grace OUT_OF_RANGE", "heartbeat.notification.deliverTime FIELD_NOT_ALLOWED",
        "heartbeat.notification.expireTime FIELD_NOT_ALLOWED",
        "heartbeat.notification.attachments[0].data FIELD_NOT_ALLOWED", "heartbeat.notification.title TOO_LONG",
        "heartbeat.notification.actions[0].type ENUM_UNSPECIFIED",
      ]), "\(told)")
    for (period, grace) in [(Int64(525_601), Int64(0)), (1, 525_601), (-5, 0)] {
      let error = await failure {
        try await service.make(heartbeat("h", in: box.id, period: period, grace: grace), anna)
      }
      #expect(error?.reason == "OUT_OF_RANGE")
    }
    var absent = heartbeat("h", in: box.id)
    absent.heartbeat?.period = nil
    #expect(
      faults(await failure { try await service.createHeartbeat(absent, context: anna) })
        == ["heartbeat.period REQUIRED"])
    #expect(
      faults(await failure { try await service.createHeartbeat(.init(), context: anna) }) == ["heartbeat REQUIRED"])
    #expect(try await service.listHeartbeats(.init(), context: anna).heartbeats.isEmpty)
    _ = try await service.make(heartbeat("h", in: box.id, period: 525_600, grace: 525_600), anna)
    await component.close()
  }

  @Test func repeatedBeatDoesNotMoveTheDeadline() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.automation
    let box = try await component.service.makeBucket("b", anna)
    let made = try await service.make(heartbeat("h", in: box.id), anna)
    let long = BeatRequest(heartbeatId: made.id, requestId: String(repeating: "x", count: 65))
    #expect(faults(await failure { try await service.beat(long, context: anna) }) == ["requestId TOO_LONG"])
    let request = BeatRequest(heartbeatId: made.id, requestId: "r")
    let first = try #require(try await service.beat(request, context: anna).heartbeat)
    #expect(made.etag == "v1" && first.etag == "v2")
    fixture.clock.advance(by: .seconds(60))
    #expect(try await service.beat(request, context: anna).heartbeat == first)
    #expect(try await service.listHeartbeats(.init(), context: anna).heartbeats == [first])
    // The deletion is refused if the heartbeat has beaten since.
    let delete = DeleteHeartbeatRequest(heartbeatId: made.id, etag: made.etag)
    let stale = await failure { try await service.deleteHeartbeat(delete, context: anna) }
    #expect(stale?.code == .aborted && faults(stale) == ["etag ETAG_MISMATCH"])
    _ = try await service.deleteHeartbeat(.init(heartbeatId: made.id, etag: first.etag), context: anna)
    let gone = await failure { try await service.deleteHeartbeat(delete, context: anna) }
    #expect(gone?.code == .notFound)
    await component.close()
  }

  @Test func bucketMustPermitPublishing() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.automation
    let box = try await component.service.makeBucket("b", anna)
    let foreign = await failure { try await service.make(heartbeat("h", in: box.id), bruno) }
    let absent = await failure { try await service.make(heartbeat("h", in: "b_none"), bruno) }
    #expect(foreign?.code == .notFound && faults(foreign) == ["heartbeat.bucketId BUCKET_NOT_FOUND"])
    #expect(faults(absent) == faults(foreign))
    func set(_ sql: String) async throws {
      try await component.store.write { transaction in
        try transaction.execute("UPDATE buckets SET \(sql) WHERE id = $1", [.text(box.id)])
      }
    }
    try await set("role = 1")
    let reader = await failure { try await service.make(heartbeat("h", in: box.id), anna) }
    #expect(reader?.code == .permissionDenied && faults(reader) == ["heartbeat.bucketId ROLE_MISSING"])
    try await set("role = 2")
    _ = try await service.make(heartbeat("h", in: box.id), anna)
    try await set("share_expires_at_ms = \(fixture.clock.nowMs)")
    #expect(await failure { try await service.make(heartbeat("h", in: box.id), anna) }?.code == .notFound)
    try await set("share_expires_at_ms = NULL, deleted_at_ms = 5")
    #expect(await failure { try await service.make(heartbeat("h", in: box.id), anna) }?.code == .notFound)
    #expect(try await service.listHeartbeats(.init(), context: anna).heartbeats.count == 1)
    await component.close()
  }
}
