import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct SharingTests {
  private func share(
    _ bucketID: String, _ member: String, _ role: BucketRole, by owner: String, until: ProtoTimestamp? = nil,
    _ component: NotificationsComponent
  ) async throws {
    try await component.sharing.share(bucketID, with: member, as: role, by: owner, until: until)
  }

  private func unshare(_ bucketID: String, _ member: String, by caller: String, _ component: NotificationsComponent)
    async throws
  {
    _ = try await component.sharing.unshareBucket(.init(bucketId: bucketID, userId: member), context: user(caller))
  }

  @Test func membersGetCopiesWithSeparateState() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("team", anna)
    _ = try await service.make("before", in: box.id, anna)
    try await share(box.id, "bruno", .reader, by: "anna", component)
    try await share(box.id, "carla", .publisher, by: "anna", component)
    let published = try await service.make("hello", in: box.id, user("carla"))
    for name in ["anna", "bruno", "carla"] {
      let newest = try #require(try await service.all(user(name)).first)
      #expect(newest.title == "hello" && newest.id == published.id && newest.bucketId == box.id)
    }
    #expect(try await service.all(bruno).map(\.title) == ["hello"])
    try await service.mark([published.id], isRead: true, bruno)
    #expect(try await service.all(anna) { $0.unreadOnly = true }.count == 2)
    #expect(try await service.all(bruno) { $0.unreadOnly = true }.isEmpty)
    // Content is shared by all members, and only publishers change it.
    var update = UpdateNotificationRequest(notification: published)
    update.notification?.etag = ""
    update.notification?.title = "hello all"
    update.updateMask = ProtoFieldMask(paths: ["title"])
    let refused = await failure { try await service.updateNotification(update, context: bruno) }
    #expect(refused?.code == .permissionDenied && refused?.reason == "ROLE_MISSING")
    _ = try await service.updateNotification(update, context: user("carla"))
    for name in ["anna", "bruno", "carla"] { #expect(try await service.all(user(name)).first?.title == "hello all") }
    let denied = await failure { try await service.make("no", in: box.id, bruno) }
    #expect(denied?.code == .permissionDenied && denied?.fieldViolations.first?.field == "notification.bucketId")
    let stranger = await failure { try await service.make("no", in: box.id, user("dora")) }
    #expect(stranger?.code == .notFound)
    await component.close()
  }

  @Test func rolesLimitMembers() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("team", anna)
    try await share(box.id, "bruno", .admin, by: "anna", component)
    try await share(box.id, "carla", .reader, by: "bruno", component)
    // Only the owner adds, changes and removes admins; the owner is not a member.
    #expect(await failure { try await share(box.id, "dora", .admin, by: "bruno", component) }?.reason == "ROLE_MISSING")
    #expect(
      await failure { try await share(box.id, "anna", .reader, by: "bruno", component) }?.code == .invalidArgument)
    #expect(await failure { try await unshare(box.id, "anna", by: "bruno", component) }?.reason == "SHARE_NOT_FOUND")
    #expect(
      await failure { try await share(box.id, "dora", .reader, by: "carla", component) }?.code == .permissionDenied)
    #expect(await failure { try await share(box.id, "dora", .reader, by: "dora", component) }?.code == .notFound)
    var update = UpdateBucketRequest(bucket: Bucket())
    update.bucket?.id = box.id
    update.bucket?.name = "renamed"
    #expect(await failure { try await service.updateBucket(update, context: user("carla")) }?.reason == "ROLE_MISSING")
    _ = try await service.updateBucket(update, context: bruno)
    let mute = UpdateBucketSettingsRequest(settings: BucketSettings(bucketId: box.id, isMuted: true))
    _ = try await service.updateBucketSettings(mute, context: user("carla"))
    let get = GetBucketRequest(bucketId: box.id)
    for (name, isMuted, role) in [
      ("anna", false, BucketRole.owner), ("bruno", false, .admin), ("carla", true, .reader),
    ] {
      let bucket = try #require(try await service.getBucket(get, context: user(name)).bucket)
      #expect(bucket.name == "renamed" && bucket.role == role && bucket.ownerId == "anna")
      #expect(bucket.settings?.isMuted == isMuted && bucket.shareCount == (role == .owner ? 2 : nil))
    }
    let delete = DeleteBucketRequest(bucketId: box.id)
    #expect(await failure { try await service.deleteBucket(delete, context: bruno) }?.reason == "ROLE_MISSING")
    await component.close()
  }

  @Test func importedBucketWithSameIDIsNotAShare() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("team", anna)
    var entries: [TransferEntry] = []
    try await UserExport(store: component.store, user: "anna").run { entries.append($0) }
    var run = UserImport(
      store: component.store, user: "bruno", limits: NotificationsLimits(), notifier: component.notifier,
      clockMs: { 1_770_000_000_000 })
    for entry in entries { try await run.add(entry) }
    _ = try await run.finish()
    let taken = await failure { try await share(box.id, "bruno", .reader, by: "anna", component) }
    #expect(taken?.fieldViolations.first?.field == "invitationId")
    #expect(taken?.code == .failedPrecondition && taken?.reason == "BUCKET_ID_TAKEN")
    _ = try await component.service.make("hers", in: box.id, anna)
    #expect(try await component.service.all(bruno).isEmpty)
    _ = try await component.service.make("his", in: box.id, bruno)
    #expect(try await component.service.all(anna).map(\.title) == ["hers"])
    await component.close()
  }

  @Test func membersDoNotListBucketsOnlyOwnerCanRestore() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("team", anna)
    try await share(box.id, "bruno", .publisher, by: "anna", component)
    _ = try await service.deleteBucket(.init(bucketId: box.id), context: anna)
    #expect(try await service.listDeletedBuckets(.init(), context: anna).buckets.map(\.id) == [box.id])
    #expect(try await service.listDeletedBuckets(.init(), context: bruno).buckets.isEmpty)
    await component.close()
  }

  @Test func endedSharesRemoveTheirCopies() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let box = try await service.makeBucket("team", anna)
    try await share(box.id, "bruno", .publisher, by: "anna", component)
    let endMs = fixture.clock.nowMs + 60_000
    try await share(
      box.id, "carla", .reader, by: "anna", until: ProtoTimestamp(millisecondsSince1970: endMs), component)
    for index in 0..<5 { _ = try await service.make("n\(index)", in: box.id, anna) }
    try await unshare(box.id, "bruno", by: "bruno", component)
    #expect(try await service.all(bruno).isEmpty)
    #expect(await failure { try await service.make("x", in: box.id, bruno) }?.code == .notFound)
    #expect(try await service.all(user("carla")).count == 5)
    fixture.clock.nowMs = endMs
    // The share has expired, even before any timer has run.
    _ = try await service.make("late", in: box.id, anna)
    #expect(try await service.all(user("carla")).count == 5)
    while try await component.timers.runDue() > 0 { fixture.clock.advance(by: .seconds(61)) }
    #expect(try await service.all(user("carla")).isEmpty)
    #expect(try await service.all(anna).count == 6)
    #expect(try await component.sharing.listBucketShares(.init(bucketId: box.id), context: anna).shares.isEmpty)
    // A user whose share has expired can rejoin; one who has left cannot be invited again for 30 days.
    try await share(box.id, "carla", .reader, by: "anna", component)
    _ = try await service.make("again", in: box.id, anna)
    #expect(try await service.all(user("carla")).map(\.title) == ["again"])
    let left = await failure { try await share(box.id, "bruno", .reader, by: "anna", component) }
    #expect(left?.code == .failedPrecondition && left?.reason == "INVITATION_TOO_SOON")
    await component.close()
  }

  @Test func publishKeysPermitOnlyPublishing() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("alarms", anna)
    let create = CreatePublishKeyRequest(
      bucketId: box.id, name: "sensor",
      expireTime: ProtoTimestamp(millisecondsSince1970: fixture.clock.nowMs + 1_000))
    let created = try await component.sharing.createPublishKey(create, context: anna)
    #expect(created.secret.hasPrefix("cpk_") && created.secret.utf8.count == 47)
    var publish = PublishWithKeyRequest(secret: created.secret, notification: Notification())
    publish.notification?.title = "fire"
    publish.requestId = "r1"
    let first = try await component.sharing.publishWithKey(publish, context: nobody)
    #expect(try await component.sharing.publishWithKey(publish, context: nobody) == first)
    #expect(try await component.service.all(anna).map(\.title) == ["fire"])
    publish.notification?.bucketId = box.id
    #expect(
      await failure { try await component.sharing.publishWithKey(publish, context: nobody) }?.code == .invalidArgument)
    publish.notification?.bucketId = ""
    publish.secret += "x"
    #expect(
      await failure { try await component.sharing.publishWithKey(publish, context: nobody) }?.code == .unauthenticated)
    publish.secret = created.secret
    fixture.clock.advance(by: .seconds(1))
    #expect(
      await failure { try await component.sharing.publishWithKey(publish, context: nobody) }?.reason
        == "PUBLISH_KEY_INVALID")
    let revoke = RevokePublishKeyRequest(bucketId: box.id, keyId: try #require(created.key?.id))
    #expect(
      await failure { try await component.sharing.revokePublishKey(revoke, context: bruno) }?.code == .notFound)
    _ = try await component.sharing.revokePublishKey(revoke, context: anna)
    #expect(try await component.sharing.listPublishKeys(.init(bucketId: box.id), context: anna).keys.isEmpty)
    await component.close()
  }
}
