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

@Suite struct InvitationTests {
  private static let dayMs: Int64 = 24 * 3_600_000

  private func decline(_ id: String, by member: String, _ component: NotificationsComponent) async throws {
    _ = try await component.sharing.declineInvitation(.init(invitationId: id), context: user(member))
  }

  private func cancel(_ one: Invitation, by owner: String, _ component: NotificationsComponent) async throws {
    let request = CancelInvitationRequest(bucketId: one.bucketId, invitationId: one.id)
    _ = try await component.sharing.cancelInvitation(request, context: user(owner))
  }

  private func accept(_ id: String, by member: String, _ component: NotificationsComponent) async throws -> Bucket {
    try #require(try await component.sharing.acceptInvitation(.of(id), context: user(member)).bucket)
  }

  private func leave(_ bucketID: String, _ member: String, _ component: NotificationsComponent) async throws {
    _ = try await component.sharing.unshareBucket(.init(bucketId: bucketID, userId: member), context: user(member))
  }

  private func sent(_ bucketID: String, by owner: String, _ component: NotificationsComponent) async throws
    -> [Invitation]
  {
    let request = ListBucketInvitationsRequest(bucketId: bucketID)
    return try await component.sharing.listBucketInvitations(request, context: user(owner)).invitations
  }

  private func block(_ other: String, by member: String, _ component: NotificationsComponent) async throws {
    _ = try await component.sharing.blockUser(.init(userId: other), context: user(member))
  }

  @Test("nothing of a bucket reaches a user before the user accepts", arguments: [true, false])
  func nothingIsDeliveredBeforeConsent(isShared: Bool) async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("Your bank", user("mallory"))
    let invitation: Invitation
    if isShared {
      let request = ShareBucketRequest(bucketId: box.id, userId: "victim", role: .reader)
      let response = try await component.sharing.shareBucket(request, context: user("mallory"))
      #expect(response.share == nil)
      invitation = try #require(response.invitation)
    } else {
      invitation = try await component.sharing.invite("victim", to: box.id, by: "mallory")
    }
    _ = try await service.make("confirm your password", in: box.id, user("mallory"))
    #expect(try await service.all(user("victim")).isEmpty)
    #expect(try await service.listBuckets(.init(), context: user("victim")).buckets.isEmpty)
    let changes = try component.store.readBlocking { transaction in
      try transaction.query("SELECT kind FROM changes WHERE user_id = $1", ["victim"]) { try $0.integer(0) }
    }
    #expect(changes.isEmpty, "an invitation is no change, no alert and no push")
    let seen = try #require(try await component.sharing.received(by: "victim").first)
    #expect(seen == invitation && seen.state == .pending && seen.bucketName == "Your bank")
    #expect(seen.inviterId == "mallory" && seen.role == .reader && seen.expireTime != nil)
    let joined = try await accept(invitation.id, by: "victim", component)
    #expect(joined.id == box.id && joined.role == .reader && joined.notificationCount == 0)
    _ = try await service.make("after", in: box.id, user("mallory"))
    #expect(try await service.all(user("victim")).map(\.title) == ["after"])
    #expect(try await component.sharing.received(by: "victim").isEmpty)
    // Repeating the acceptance returns the same bucket.
    #expect(try await accept(invitation.id, by: "victim", component).id == box.id)
    await component.close()
  }

  @Test("invitations and shared buckets do not count towards a user's own limits")
  func invitationsAndSharesDoNotUseOwnLimits() async throws {
    var limits = NotificationsLimits()
    (limits.bucketsPerUserMax, limits.sharedBucketsPerUserMax) = (4, 2)
    let component = try await Fixture(limits).open()
    var boxes: [Bucket] = []
    for index in 0..<3 { boxes.append(try await component.service.makeBucket("b\(index)", user("mallory"))) }
    for box in boxes.prefix(2) {
      try await component.sharing.share(box.id, with: "victim", as: .reader, by: "mallory")
    }
    let full = await failure {
      try await component.sharing.share(boxes[2].id, with: "victim", as: .reader, by: "mallory")
    }
    #expect(full?.code == .resourceExhausted && full?.reason == "SHARED_BUCKETS_EXHAUSTED")
    for index in 0..<4 { _ = try await component.service.makeBucket("own \(index)", user("victim")) }
    #expect(
      await failure { try await component.service.makeBucket("more", user("victim")) }?.reason == "BUCKETS_EXHAUSTED")
    // Leaving frees a slot; deleting and restoring the bucket keeps the counts correct.
    try await leave(boxes[0].id, "victim", component)
    _ = try await component.service.deleteBucket(.init(bucketId: boxes[1].id), context: user("mallory"))
    #expect(try shared("victim", component) == 0)
    _ = try await component.service.undeleteBucket(.init(bucketId: boxes[1].id), context: user("mallory"))
    #expect(try shared("victim", component) == 1)
    try await component.sharing.share(boxes[2].id, with: "victim", as: .reader, by: "mallory")
    #expect(try shared("victim", component) == 2)
    await component.close()
  }

  @Test("a share that expires while its bucket is deleted is not restored with it")
  func sharesExpireInDeletedBuckets() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("team", anna)
    let end = ProtoTimestamp(millisecondsSince1970: fixture.clock.nowMs + 3_600_000)
    try await component.sharing.share(box.id, with: "bruno", as: .reader, by: "anna", until: end)
    try await component.sharing.share(box.id, with: "carla", as: .reader, by: "anna")
    _ = try await component.service.make("before", in: box.id, anna)
    _ = try await component.service.deleteBucket(.init(bucketId: box.id), context: anna)
    fixture.clock.advance(by: .seconds(3600))
    _ = try await component.timers.runDue()
    _ = try await component.service.undeleteBucket(.init(bucketId: box.id), context: anna)
    #expect(try await component.service.all(bruno).isEmpty)
    #expect(try await component.service.all(user("carla")).count == 1)
    #expect(try shared("bruno", component) == 0)
    try await component.sharing.share(box.id, with: "bruno", as: .reader, by: "anna")
    #expect(try shared("bruno", component) == 1)
    await component.close()
  }

  @Test("an invitation that replaces an accepted one counts towards the limit of the pair")
  func replacementsOfAcceptedInvitationsCount() async throws {
    var limits = NotificationsLimits()
    limits.invitationsPerPairMax = 1
    let component = try await Fixture(limits).open()
    var boxes: [Bucket] = []
    for name in ["a", "b"] { boxes.append(try await component.service.makeBucket(name, anna)) }
    try await component.sharing.share(boxes[0].id, with: "bruno", as: .reader, by: "anna")
    _ = try await component.sharing.unshareBucket(.init(bucketId: boxes[0].id, userId: "bruno"), context: anna)
    _ = try await component.sharing.invite("bruno", to: boxes[1].id, by: "anna")
    let refused = await failure { try await component.sharing.invite("bruno", to: boxes[0].id, by: "anna") }
    #expect(refused?.reason == "INVITATIONS_EXHAUSTED")
    await component.close()
  }

  private func shared(_ name: String, _ component: NotificationsComponent) throws -> Int64? {
    let counted = """
      SELECT count(*) FROM buckets WHERE user_id = $1 AND owner_id <> '' AND deleted_at_ms IS NULL
      """
    return try component.store.readBlocking { transaction in
      let rows = try transaction.queryOne(counted, [.text(name)]) { try $0.integer(0) }
      let kept = try transaction.queryOne(
        "SELECT shared_bucket_count FROM users WHERE user_id = $1", [.text(name)]
      ) { try $0.integer(0) }
      #expect(rows == kept)
      return kept
    }
  }

  @Test("copies of shared buckets leave a tenth of a member's notification limit free")
  func sharedCopiesLeaveRoomForOwnNotifications() async throws {
    var limits = NotificationsLimits()
    limits.notificationsPerUserMax = 20
    let component = try await Fixture(limits).open()
    let box = try await component.service.makeBucket("flood", user("mallory"))
    try await component.sharing.share(box.id, with: "victim", as: .reader, by: "mallory")
    for index in 0..<20 { _ = try await component.service.make("n\(index)", in: box.id, user("mallory")) }
    #expect(try await component.service.all(user("victim")).count == 18)
    let own = try await component.service.makeBucket("own", user("victim"))
    _ = try await component.service.make("mine", in: own.id, user("victim"))
    #expect(try await component.service.all(user("victim")).count == 19)
    await component.close()
  }

  @Test("a bucket deleted by its owner leaves a tenth of a member's trash free")
  func deletedSharedCopiesLeaveRoomForOwnTrash() async throws {
    var limits = NotificationsLimits()
    limits.deletedPerUserMax = 20
    let component = try await Fixture(limits).open()
    let box = try await component.service.makeBucket("flood", user("mallory"))
    try await component.sharing.share(box.id, with: "victim", as: .reader, by: "mallory")
    for index in 0..<25 { _ = try await component.service.make("n\(index)", in: box.id, user("mallory")) }
    _ = try await component.service.deleteBucket(.init(bucketId: box.id), context: user("mallory"))
    let own = try await component.service.makeBucket("own", user("victim"))
    let mine = try await component.service.make("mine", in: own.id, user("victim"))
    _ = try await component.service.batchDeleteNotifications(.init(notificationIds: [mine.id]), context: user("victim"))
    let listed = try await component.service.listDeletedNotifications(.init(), context: user("victim")).notifications
    #expect(listed.map(\.title) == ["mine"])
    await component.close()
  }

  @Test("a user who declines or leaves cannot be invited to the bucket again for 30 days")
  func declinedUsersCannotBeInvitedFor30Days() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("team", anna)
    let first = try await component.sharing.invite("bruno", to: box.id, by: "anna")
    try await decline(first.id, by: "bruno", component)
    try await decline(first.id, by: "bruno", component)
    #expect(try await sent(box.id, by: "anna", component).map(\.state) == [.declined])
    try await component.sharing.share(box.id, with: "carla", as: .reader, by: "anna")
    try await leave(box.id, "carla", component)
    for name in ["bruno", "carla"] {
      let refused = await failure { try await component.sharing.invite(name, to: box.id, by: "anna") }
      #expect(refused?.code == .failedPrecondition && refused?.reason == "INVITATION_TOO_SOON")
      #expect(refused?.fieldViolations.first?.field == "userId")
      #expect(refused?.errorMetadata["inviteAfterTime"]?.hasSuffix("Z") == true)
      #expect(try await component.sharing.received(by: name).isEmpty)
    }
    #expect(await failure { try await accept(first.id, by: "bruno", component) }?.reason == "INVITATION_ENDED")
    fixture.clock.advance(by: .milliseconds(30 * Self.dayMs))
    _ = try await component.sharing.invite("bruno", to: box.id, by: "anna")
    #expect(try await component.sharing.received(by: "bruno").count == 1)
    await component.close()
  }

  @Test("a new bucket does not reset the limits of invitations")
  func newBucketDoesNotResetInvitationLimits() async throws {
    var limits = NotificationsLimits()
    limits.invitationsPerPairMax = 3
    let component = try await Fixture(limits).open()
    for _ in 0..<3 {
      let box = try await component.service.makeBucket("spam", user("mallory"))
      _ = try await component.sharing.invite("victim", to: box.id, by: "mallory")
      _ = try await component.service.deleteBucket(.init(bucketId: box.id), context: user("mallory"))
      #expect(try await component.sharing.received(by: "victim").isEmpty)
    }
    let box = try await component.service.makeBucket("spam", user("mallory"))
    let refused = await failure { try await component.sharing.invite("victim", to: box.id, by: "mallory") }
    #expect(refused?.code == .resourceExhausted && refused?.reason == "INVITATIONS_EXHAUSTED")
    await component.close()
  }

  @Test("each limit of invitations is reported to the inviter") func invitationLimitsAreReported() async throws {
    var limits = NotificationsLimits()
    (limits.invitationsPerBucketMax, limits.invitationsReceivedMax, limits.invitationsPerOwnerMax) = (2, 2, 3)
    let component = try await Fixture(limits).open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("a", anna)
    _ = try await sharing.invite("u1", to: box.id, by: "anna")
    let second = try await sharing.invite("u2", to: box.id, by: "anna")
    // Equal terms return the same invitation. Other terms replace it and need no further slot.
    #expect(try await sharing.invite("u2", to: box.id, by: "anna") == second)
    let changed = try await sharing.invite("u2", to: box.id, as: .publisher, by: "anna")
    #expect(changed.id != second.id)
    #expect(await failure { try await accept(second.id, by: "u2", component) }?.reason == "INVITATION_NOT_FOUND")
    #expect(await failure { try await sharing.invite("u3", to: box.id, by: "anna") }?.reason == "INVITATIONS_EXHAUSTED")
    try await cancel(changed, by: "anna", component)
    try await cancel(changed, by: "anna", component)
    _ = try await sharing.invite("u3", to: box.id, by: "anna")
    let other = try await component.service.makeBucket("b", anna)
    let owners = await failure { try await sharing.invite("u4", to: other.id, by: "anna") }
    #expect(owners?.reason == "INVITATIONS_EXHAUSTED" && owners?.errorMetadata["limit"] == "3")
    for name in ["bruno", "carla"] {
      let box = try await component.service.makeBucket("b", user(name))
      let refused = await failure { try await sharing.invite("u1", to: box.id, by: name) }
      #expect((refused?.reason == "INVITATIONS_EXHAUSTED") == (name == "carla"))
    }
    #expect(try await sharing.received(by: "u1").count == 2)
    await component.close()
  }

  @Test("an invitation from a blocked user is not delivered, and the inviter cannot detect it")
  func invitationsFromBlockedUsersAreHidden() async throws {
    var limits = NotificationsLimits()
    limits.invitationsReceivedMax = 2
    let fixture = try Fixture(limits)
    let component = try await fixture.open()
    let sharing = component.sharing
    var boxes: [Bucket] = []
    for name in ["a", "b", "c"] { boxes.append(try await component.service.makeBucket(name, user("mallory"))) }
    // An invitation before the block, which hides it.
    let first = try await sharing.invite("victim", to: boxes[0].id, by: "mallory")
    try await block("mallory", by: "victim", component)
    try await block("mallory", by: "victim", component)
    let second = try await sharing.invite("victim", to: boxes[1].id, by: "mallory")
    #expect(first.state == .pending && second.state == .pending)
    #expect(try await sharing.received(by: "victim").isEmpty)
    for one in [first, second] {
      #expect(await failure { try await accept(one.id, by: "victim", component) }?.reason == "INVITATION_NOT_FOUND")
    }
    #expect(try await sent(boxes[0].id, by: "mallory", component).map(\.state) == [.pending])
    #expect(try await sharing.invite("victim", to: boxes[0].id, by: "mallory") == first)
    // The limit applies to the inviter as it would without the block, and to no other user.
    #expect(
      await failure { try await sharing.invite("victim", to: boxes[2].id, by: "mallory") }?.reason
        == "INVITATIONS_EXHAUSTED")
    let good = try await component.service.makeBucket("good", anna)
    _ = try await sharing.invite("victim", to: good.id, by: "anna")
    #expect(try await sharing.received(by: "victim").map(\.ownerId) == ["anna"])
    #expect(
      try await sharing.listBlockedUsers(.init(), context: user("victim")).blockedUsers.map(\.userId) == ["mallory"])
    _ = try await sharing.unblockUser(.init(userId: "mallory"), context: user("victim"))
    #expect(try await sharing.received(by: "victim").count == 1)
    #expect(try await sharing.invite("victim", to: boxes[0].id, by: "mallory") == first)
    #expect(try await sharing.received(by: "victim").count == 2)
    await component.close()
  }

  @Test("invitations expire and are purged 30 days later") func invitationsExpire() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("team", anna)
    let one = try await component.sharing.invite("bruno", to: box.id, by: "anna")
    let nowMs = fixture.clock.nowMs
    #expect(one.expireTime?.millisecondsSince1970 == nowMs + 7 * Self.dayMs)
    fixture.clock.advance(by: .milliseconds(7 * Self.dayMs))
    #expect(try await component.sharing.received(by: "bruno").isEmpty)
    #expect(await failure { try await accept(one.id, by: "bruno", component) }?.reason == "INVITATION_ENDED")
    #expect(try await sent(box.id, by: "anna", component).map(\.state) == [.expired])
    // An expired invitation can be repeated at once.
    _ = try await component.sharing.invite("bruno", to: box.id, by: "anna")
    fixture.clock.advance(by: .milliseconds(38 * Self.dayMs))
    try await component.maintain(nowMs: fixture.clock.nowMs)
    #expect(try await sent(box.id, by: "anna", component).isEmpty)
    var request = InviteToBucketRequest(bucketId: box.id, userId: "bruno", role: .reader)
    let late = fixture.clock.nowMs + 31 * Self.dayMs
    request.expireTime = ProtoTimestamp(millisecondsSince1970: late)
    let refused = await failure { try await component.sharing.inviteToBucket(request, context: anna) }
    #expect(refused?.code == .invalidArgument && refused?.fieldViolations.first?.field == "expireTime")
    await component.close()
  }

  @Test("the offers of a former admin are withdrawn") func offersOfFormerAdminsAreWithdrawn() async throws {
    let component = try await Fixture().open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("team", anna)
    try await sharing.share(box.id, with: "bruno", as: .admin, by: "anna")
    let one = try await sharing.invite("carla", to: box.id, by: "bruno")
    #expect(
      await failure { try await sharing.invite("dora", to: box.id, as: .admin, by: "bruno") }?.reason == "ROLE_MISSING")
    let code = CreateInviteCodeRequest(bucketId: box.id, role: .publisher)
    let join = AcceptInviteCodeRequest(secret: try await sharing.createInviteCode(code, context: bruno).secret)
    try await sharing.share(box.id, with: "bruno", as: .reader, by: "anna")
    #expect(await failure { try await accept(one.id, by: "carla", component) }?.reason == "INVITATION_ENDED")
    let invalid = await failure { try await sharing.acceptInviteCode(join, context: user("carla")) }
    #expect(invalid?.code == .notFound && invalid?.reason == "INVITE_CODE_INVALID")
    await component.close()
  }

  @Test("invite codes admit users for a limited time and number of uses") func inviteCodesAdmitUsers() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("team", anna)
    var create = CreateInviteCodeRequest(bucketId: box.id, role: .publisher, maxUses: 2)
    let made = try await sharing.createInviteCode(create, context: anna)
    #expect(
      made.secret.hasPrefix("cic_") && made.secret.utf8.count == 47
        && made.code?.hint == made.secret.prefix(8).description)
    var join = AcceptInviteCodeRequest(secret: made.secret)
    #expect(try await sharing.acceptInviteCode(join, context: bruno).bucket?.role == .publisher)
    #expect(try await sharing.acceptInviteCode(join, context: bruno).bucket?.id == box.id)
    #expect(try await sharing.acceptInviteCode(join, context: anna).bucket?.role == .owner)
    // A user who has left can rejoin with the code.
    try await leave(box.id, "bruno", component)
    _ = try await sharing.acceptInviteCode(join, context: bruno)
    #expect(await failure { try await sharing.acceptInviteCode(join, context: user("carla")) }?.code == .notFound)
    let list = ListInviteCodesRequest(bucketId: box.id)
    #expect(try await sharing.listInviteCodes(list, context: anna).codes.map(\.useCount) == [2])
    create.maxUses = 0
    let open = try await sharing.createInviteCode(create, context: anna)
    fixture.clock.advance(by: .milliseconds(7 * Self.dayMs))
    join.secret = open.secret
    #expect(await failure { try await sharing.acceptInviteCode(join, context: user("carla")) }?.code == .notFound)
    #expect(try await sharing.listInviteCodes(list, context: anna).codes.isEmpty)
    for role in [BucketRole.admin, .owner, .unspecified] {
      create.role = role
      let refused = await failure { try await sharing.createInviteCode(create, context: anna) }
      #expect(refused?.code == .invalidArgument && refused?.fieldViolations.first?.field == "role")
    }
    (create.role, create.maxUses) = (.reader, 101)
    let uses = await failure { try await sharing.createInviteCode(create, context: anna) }
    #expect(uses?.fieldViolations.first?.field == "maxUses")
    await component.close()
  }

  @Test("owners and members cannot be invited, and strangers see neither the bucket nor the invitation")
  func onlyInvitedUserCanRespond() async throws {
    let component = try await Fixture().open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("team", anna)
    try await sharing.share(box.id, with: "bruno", as: .admin, by: "anna")
    let owner = await failure { try await sharing.invite("anna", to: box.id, by: "bruno") }
    #expect(owner?.code == .invalidArgument && owner?.fieldViolations.first?.field == "userId")
    #expect(await failure { try await sharing.invite("bruno", to: box.id, by: "anna") }?.reason == "ALREADY_MEMBER")
    #expect(await failure { try await sharing.invite("bruno", to: box.id, by: "bruno") }?.reason == "ALREADY_MEMBER")
    let one = try await sharing.invite("carla", to: box.id, as: .admin, by: "anna")
    // Only the owner can cancel an offer of ADMIN, and only the invited user can respond to it.
    #expect(await failure { try await cancel(one, by: "bruno", component) }?.reason == "ROLE_MISSING")
    #expect(await failure { try await sharing.invite("carla", to: box.id, by: "bruno") }?.reason == "ROLE_MISSING")
    for name in ["anna", "bruno", "dora"] {
      #expect(await failure { try await accept(one.id, by: name, component) }?.reason == "INVITATION_NOT_FOUND")
      #expect(await failure { try await decline(one.id, by: name, component) }?.reason == "INVITATION_NOT_FOUND")
    }
    #expect(await failure { try await cancel(one, by: "dora", component) }?.reason == "BUCKET_NOT_FOUND")
    #expect(await failure { try await sent(box.id, by: "dora", component) }?.reason == "BUCKET_NOT_FOUND")
    #expect(try await accept(one.id, by: "carla", component).role == .admin)
    #expect(await failure { try await cancel(one, by: "anna", component) }?.reason == "INVITATION_ENDED")
    #expect(await failure { try await decline(one.id, by: "carla", component) }?.reason == "INVITATION_ENDED")
    await component.close()
  }

  @Test("a repeated request id returns the first invitation") func requestIDReturnsFirstInvitation() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("team", anna)
    var request = InviteToBucketRequest(bucketId: box.id, userId: "bruno", role: .reader, requestId: "r1")
    let first = try await component.sharing.inviteToBucket(request, context: anna)
    try await cancel(try #require(first.invitation), by: "anna", component)
    #expect(try await component.sharing.inviteToBucket(request, context: anna) == first)
    #expect(try await component.sharing.received(by: "bruno").isEmpty)
    request.userId = "carla"
    #expect(
      await failure { try await component.sharing.inviteToBucket(request, context: anna) }?.reason
        == "REQUEST_ID_REUSED")
    await component.close()
  }

  @Test("lists are paged, and received invitations come newest first") func listsArePaged() async throws {
    let component = try await Fixture().open()
    var names: [String] = []
    for index in 0..<5 {
      let box = try await component.service.makeBucket("b\(index)", anna)
      _ = try await component.sharing.invite("bruno", to: box.id, by: "anna")
      names.append(box.name)
    }
    var request = ListInvitationsRequest(pageSize: 2)
    var seen: [String] = []
    repeat {
      let page = try await component.sharing.listInvitations(request, context: bruno)
      seen += page.invitations.map(\.bucketName)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(seen == names.reversed())
    request.pageToken = "x"
    #expect(
      await failure { try await component.sharing.listInvitations(request, context: bruno) }?.reason
        == "PAGE_TOKEN_INVALID")
    await component.close()
  }
}
