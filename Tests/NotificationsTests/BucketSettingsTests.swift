import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct BucketSettingsTests {
  private func settings(_ id: String, _ component: NotificationsComponent, _ context: CallContext) async throws
    -> BucketSettings
  {
    try #require(try await component.service.getBucketSettings(.init(bucketId: id), context: context).settings)
  }

  private func bucket(_ id: String, _ component: NotificationsComponent, _ context: CallContext) async throws -> Bucket
  {
    try #require(try await component.service.getBucket(.init(bucketId: id), context: context).bucket)
  }

  @Test func invalidSettingsAreRejected() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let bad = BucketSettings(
      bucketId: box.id, snoozeEndTime: fixture.clock.time(afterMs: 367 * 86_400_000),
      quietHours: QuietHours(windows: [QuietWindow(start: "7:00", end: "25:00")]),
      retention: RetentionPolicy(maxAgeDays: -1, afterRead: ProtoDuration(seconds: 59)))
    let error = await failure {
      try await component.service.updateBucketSettings(.init(settings: bad), context: anna)
    }
    #expect(
      Set(faults(error)) == [
        "settings.snoozeEndTime OUT_OF_RANGE", "settings.quietHours.windows[0].start TIME_OF_DAY_INVALID",
        "settings.quietHours.windows[0].end TIME_OF_DAY_INVALID", "settings.retention.maxAgeDays OUT_OF_RANGE",
        "settings.retention.afterRead OUT_OF_RANGE",
      ])
    for path in ["name", "update_time", "bucket_id"] {
      let error = await failure {
        try await component.service.updateBucketSettings(
          .init(settings: BucketSettings(bucketId: box.id), updateMask: mask(path)), context: anna)
      }
      #expect(faults(error) == ["updateMask FIELD_MASK_INVALID"])
    }
    #expect(
      faults(await failure { try await component.service.updateBucketSettings(.init(), context: anna) })
        == ["settings REQUIRED"])
    #expect(try await settings(box.id, component, anna) == BucketSettings(bucketId: box.id, etag: "v1"))
    await component.close()
  }

  @Test("settings are the member's own: readers change theirs, and admins change the bucket without them")
  func settingsBelongToTheMember() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await component.sharing.share(box.id, with: "bruno", as: .reader, by: "anna")
    let change = BucketSettings(
      bucketId: box.id, isMuted: true, quietHours: QuietHours(windows: [QuietWindow(start: "22:00", end: "07:00")]),
      retention: RetentionPolicy(afterRead: ProtoDuration(seconds: 90, nanos: 1)))
    let changed = try #require(
      try await service.updateBucketSettings(.init(settings: change), context: bruno).settings)
    #expect(changed.isMuted && changed.quietHours == change.quietHours && changed.updateTime != nil)
    #expect(changed.retention?.afterRead == ProtoDuration(seconds: 90) && changed.etag == "v2")
    #expect(try await settings(box.id, component, bruno) == changed)
    #expect(try await settings(box.id, component, anna) == BucketSettings(bucketId: box.id, etag: "v1"))
    // A change of the bucket reaches all members and leaves their settings, even if it carries others.
    let rename = Bucket(id: box.id, name: "renamed", settings: BucketSettings(bucketId: box.id))
    #expect(
      await failure { try await service.updateBucket(.init(bucket: rename), context: bruno) }?.code == .permissionDenied
    )
    _ = try await service.updateBucket(.init(bucket: rename, updateMask: mask("*")), context: anna)
    let his = try await bucket(box.id, component, bruno)
    #expect(his.name == "renamed" && his.settings == changed)
    let inMask = await failure {
      try await service.updateBucket(.init(bucket: rename, updateMask: mask("settings")), context: anna)
    }
    #expect(faults(inMask) == ["updateMask FIELD_MASK_INVALID"])
    // An empty mask changes what is set; `*` resets the rest.
    let reset = BucketSettings(bucketId: box.id, snoozeEndTime: ProtoTimestamp(millisecondsSince1970: 1))
    let cleared = try await service.updateBucketSettings(
      .init(settings: reset, updateMask: mask("*")), context: bruno
    ).settings
    #expect(cleared?.snoozeEndTime == nil && cleared?.isMuted == false && cleared?.retention == nil)
    #expect(cleared?.quietHours == nil && cleared?.etag == "v3")
    await component.close()
  }

  @Test func createdBucketIgnoresSettings() async throws {
    let component = try await Fixture().open()
    let invalid = BucketSettings(isMuted: true, retention: RetentionPolicy(maxAgeDays: -1))
    let made = try await component.service.createBucket(
      .init(bucket: Bucket(name: "b", settings: invalid)), context: anna
    ).bucket
    #expect(made?.settings == BucketSettings(bucketId: made?.id ?? "", etag: "v1"))
    await component.close()
  }

  @Test("a bucket's etag changes with its counts and the caller's settings, so that it identifies the response")
  func etagsIdentifyResponses() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await component.sharing.share(box.id, with: "bruno", as: .reader, by: "anna")
    var seen: Set<String> = []
    func expectNewEtag(_ what: String) async throws {
      #expect(seen.insert(try await bucket(box.id, component, anna).etag).inserted, "\(what)")
    }
    try await expectNewEtag("shared")
    let one = try await service.make("n", in: box.id, anna)
    try await expectNewEtag("published")
    try await service.mark([one.id], isRead: true, anna)
    try await expectNewEtag("read")
    try await service.snooze(box.id, until: fixture.clock.time(afterMs: 3_600_000), anna)
    try await expectNewEtag("snoozed")
    _ = try await service.updateBucketSettings(
      .init(settings: BucketSettings(bucketId: box.id, isMuted: true)), context: anna)
    try await expectNewEtag("muted")
    try await component.sharing.share(box.id, with: "carla", as: .reader, by: "anna")
    try await expectNewEtag("shared again")
    let before = try await bucket(box.id, component, anna)
    _ = try await service.updateBucketSettings(
      .init(settings: BucketSettings(bucketId: box.id, isMuted: true)), context: bruno)
    #expect(try await bucket(box.id, component, anna) == before)
    // Counts do not conflict with a change; the version does.
    _ = try await service.make("more", in: box.id, anna)
    let renamed = try await service.updateBucket(
      .init(bucket: Bucket(id: box.id, name: "x", etag: before.etag)), context: anna
    ).bucket
    for etag in [before.etag, "v", "x", ".", "v1"] {
      let stale = await failure {
        try await service.updateBucket(.init(bucket: Bucket(id: box.id, name: "y", etag: etag)), context: anna)
      }
      #expect(stale?.code == .aborted && faults(stale) == ["bucket.etag ETAG_MISMATCH"])
      #expect(stale?.errorMetadata["etag"] == renamed?.etag)
    }
    let deletion = await failure {
      try await service.deleteBucket(.init(bucketId: box.id, etag: before.etag), context: anna)
    }
    #expect(faults(deletion) == ["etag ETAG_MISMATCH"])
    _ = try await service.deleteBucket(.init(bucketId: box.id, etag: renamed?.etag ?? ""), context: anna)
    await component.close()
  }

  @Test func settingsHaveTheirOwnEtag() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    _ = try await service.updateBucket(.init(bucket: Bucket(id: box.id, name: "renamed")), context: anna)
    _ = try await service.make("n", in: box.id, anna)
    var change = BucketSettings(bucketId: box.id, isMuted: true, etag: "v1")
    let changed = try await service.updateBucketSettings(.init(settings: change), context: anna).settings
    #expect(changed?.etag == "v2")
    change.isMuted = false
    let stale = await failure {
      try await service.updateBucketSettings(.init(settings: change, updateMask: mask("is_muted")), context: anna)
    }
    #expect(stale?.code == .aborted && faults(stale) == ["settings.etag ETAG_MISMATCH"])
    // The same values again change nothing.
    change = BucketSettings(bucketId: box.id, isMuted: true)
    #expect(try await service.updateBucketSettings(.init(settings: change), context: anna).settings == changed)
    await component.close()
  }
}
