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

@Suite struct PagingTests {
  /// Returns the objects of all pages. Each page has at most `size` objects, and only the last one may be empty.
  private func all<T>(
    _ size: Int32, _ page: (_ size: Int32, _ token: String) async throws -> (found: [T], next: String)
  ) async throws -> [T] {
    var (found, token): ([T], String) = ([], "")
    repeat {
      let (more, next) = try await page(size, token)
      #expect(more.count <= Int(size) && (next.isEmpty || !more.isEmpty))
      found += more
      token = next
    } while !token.isEmpty
    return found
  }

  @Test func sharesKeysAndCodesHavePages() async throws {
    let component = try await Fixture().open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("b", anna)
    let members = ["dora", "Bruno", "carla", "emil", "fred"]
    var (keys, codes): ([String], [String]) = ([], [])
    for member in members {
      try await sharing.share(box.id, with: member, as: .reader, by: "anna")
      let key = try await sharing.createPublishKey(.init(bucketId: box.id, name: member), context: anna)
      keys.append(key.key?.id ?? "")
      codes.append(
        try await sharing.createInviteCode(.init(bucketId: box.id, role: .reader), context: anna).code?.id ?? "")
    }
    for size in 1...6 as ClosedRange<Int32> {
      let shares = try await all(size) {
        let page = try await sharing.listBucketShares(
          .init(bucketId: box.id, pageSize: $0, pageToken: $1), context: anna)
        return (page.shares.map(\.userId), page.nextPageToken)
      }
      #expect(shares == members.sorted())
      let listed = try await all(size) {
        let page = try await sharing.listPublishKeys(
          .init(bucketId: box.id, pageSize: $0, pageToken: $1), context: anna)
        return (page.keys.map(\.id), page.nextPageToken)
      }
      #expect(listed == keys.sorted())
      let invites = try await all(size) {
        let page = try await sharing.listInviteCodes(
          .init(bucketId: box.id, pageSize: $0, pageToken: $1), context: anna)
        return (page.codes.map(\.id), page.nextPageToken)
      }
      #expect(invites == codes.sorted())
    }
    // A token belongs to its list, bucket and user.
    let other = try await component.service.makeBucket("other", anna)
    let token = try await sharing.listPublishKeys(.init(bucketId: box.id, pageSize: 1), context: anna).nextPageToken
    #expect(
      faults(
        await failure {
          try await sharing.listPublishKeys(.init(bucketId: other.id, pageToken: token), context: anna)
        }) == ["pageToken PAGE_TOKEN_INVALID"])
    #expect(
      faults(
        await failure {
          try await sharing.listInviteCodes(.init(bucketId: box.id, pageToken: token), context: anna)
        }) == ["pageToken PAGE_TOKEN_INVALID"])
    #expect(
      faults(await failure { try await sharing.listBucketShares(.init(bucketId: box.id, pageSize: -1), context: anna) })
        == ["pageSize OUT_OF_RANGE"])
    await component.close()
  }

  @Test("pages of the delivery log contain every record once, the derived hand-over included")
  func deliveryLogHasPages() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let one = try await service.make("n", in: box.id, anna)
    let createdMs = try #require(one.createTime?.millisecondsSince1970)
    let operating = CallContext(
      method: DeliveryServiceMethods.recordDeliveries,
      principal: Principal(kind: .service, id: "activities", scopes: ["notifications:operate"]))
    let devices: [(device: String, ms: Int64)] = [("b", 5), ("a", 5), ("c", 0), ("d", -5), ("a", 9)]
    let deliveries = devices.map { device, ms in
      NotificationDelivery(
        userId: "anna", notificationId: one.id,
        record: DeliveryRecord(
          eventTime: ProtoTimestamp(millisecondsSince1970: createdMs + ms), deviceId: device, outcome: .pushed,
          pushId: "p"))
    }
    #expect(
      try await component.delivery.recordDeliveries(.init(deliveries: deliveries), context: operating).recordedCount
        == 5)
    #expect(
      try await component.delivery.recordDeliveries(.init(deliveries: deliveries), context: operating).recordedCount
        == 0)
    for size in 1...7 as ClosedRange<Int32> {
      let records = try await all(size) {
        let page = try await service.explainDelivery(
          .init(notificationId: one.id, pageSize: $0, pageToken: $1), context: anna)
        return (page.records.map { "\($0.outcome) \($0.deviceId)" }, page.nextPageToken)
      }
      #expect(records == ["pushed d", "handedOver ", "pushed c", "pushed a", "pushed b", "pushed a"])
    }
    let token = try await service.explainDelivery(
      .init(notificationId: one.id, pageSize: 1), context: anna
    ).nextPageToken
    let other = try await service.make("other", in: box.id, anna)
    #expect(
      faults(
        await failure {
          try await service.explainDelivery(.init(notificationId: other.id, pageToken: token), context: anna)
        }) == ["pageToken PAGE_TOKEN_INVALID"])
    await component.close()
  }

  @Test func repeatedCreationOfASecretReturnsItsObjectOnly() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("b", anna)
    let long = CreatePublishKeyRequest(bucketId: box.id, name: "k", requestId: String(repeating: "x", count: 65))
    #expect(faults(await failure { try await sharing.createPublishKey(long, context: anna) }) == ["requestId TOO_LONG"])
    var request = CreatePublishKeyRequest(bucketId: box.id, name: "k", requestId: "r")
    let first = try await sharing.createPublishKey(request, context: anna)
    let again = try await sharing.createPublishKey(request, context: anna)
    #expect(!first.secret.isEmpty && again == CreatePublishKeyResponse(key: first.key))
    #expect(try await sharing.listPublishKeys(.init(bucketId: box.id), context: anna).keys == [first.key])
    request.name = "other"
    #expect(await failure { try await sharing.createPublishKey(request, context: anna) }?.reason == "REQUEST_ID_REUSED")
    let invite = CreateInviteCodeRequest(bucketId: box.id, role: .reader, requestId: "r")
    let code = try await sharing.createInviteCode(invite, context: anna)
    #expect(try await sharing.createInviteCode(invite, context: anna) == CreateInviteCodeResponse(code: code.code))
    #expect(try await sharing.listInviteCodes(.init(bucketId: box.id), context: anna).codes == [code.code])
    // Neither secret is stored with the replies.
    for secret in [first.secret, code.secret] {
      let replies = try component.store.readBlocking { transaction in
        try transaction.query("SELECT reply FROM store_idempotency") {
          String(decoding: try $0.bytes(0), as: UTF8.self)
        }
      }
      #expect(replies.count == 2 && !replies.contains { $0.contains(secret) })
    }
    await component.close()
  }

  @Test func userIdsAreChecked() async throws {
    let component = try await Fixture().open()
    let sharing = component.sharing
    let box = try await component.service.makeBucket("b", anna)
    for (id, reason) in [("", "REQUIRED"), ("é", "ID_INVALID"), (String(repeating: "x", count: 129), "ID_INVALID")] {
      let errors = [
        await failure { try await sharing.blockUser(.init(userId: id), context: anna) },
        await failure { try await sharing.unblockUser(.init(userId: id), context: anna) },
        await failure {
          try await sharing.inviteToBucket(.init(bucketId: box.id, userId: id, role: .reader), context: anna)
        },
        await failure {
          try await sharing.shareBucket(.init(bucketId: box.id, userId: id, role: .reader), context: anna)
        },
      ]
      for error in errors { #expect(faults(error) == ["userId \(reason)"]) }
    }
    await component.close()
  }

  @Test("a page of large objects ends at 2 MiB, so that it fits into a frame")
  func largePagesEndEarly() async throws {
    let component = try await Fixture().open()
    let long = String(repeating: "\u{1}", count: 16_000)
    var names: [String] = []
    for index in 0..<40 {
      let name = "t\(100 + index)"
      names.append(name)
      let draft = Template(name: name, title: "x", body: long)
      _ = try await component.automation.createTemplate(.init(template: draft), context: anna)
      let bucket = Bucket(name: name, description: String(repeating: "\u{1}", count: 1_024))
      _ = try await component.service.createBucket(.init(bucket: bucket), context: anna)
    }
    var pages = 0
    let templates = try await all(1_000) {
      let page = try await component.automation.listTemplates(.init(pageSize: $0, pageToken: $1), context: anna)
      pages += 1
      #expect(page.jsonUTF8Bytes().count < 3 << 20)
      return (page.templates.map(\.name), page.nextPageToken)
    }
    #expect(templates == names && pages > 1)
    let buckets = try await all(7) {
      let page = try await component.service.listBuckets(.init(pageSize: $0, pageToken: $1), context: anna)
      return (page.buckets.map(\.name), page.nextPageToken)
    }
    #expect(buckets == names)
    let sizes = try await component.service.repository.buckets(
      BucketQuery(ListBucketsRequest(pageSize: 1_000), user: "anna", limits: NotificationsLimits())
    ).buckets.items.map { (estimate: $0.sizeBytes, real: $0.jsonUTF8Bytes().count) }
    #expect(sizes.count == 40 && sizes.allSatisfy { $0.estimate >= $0.real && $0.estimate < 2 * $0.real })
    await component.close()
  }

  @Test("a range of ids begins at the prefix, and after the last id without U+0000")
  func rangesOfIDsHaveOneLowerBound() throws {
    func range(after last: String?) throws -> [SQLValue] {
      let limits = NotificationsLimits()
      let first = try PositionQuery(user: "", pageSize: 7, pageToken: "", scope: ["ids"], parts: 1, limits: limits)
      guard let last else { return first.idRange(prefix: "b") }
      let token = first.token([last])
      return try PositionQuery(user: "", pageSize: 7, pageToken: token, scope: ["ids"], parts: 1, limits: limits)
        .idRange(prefix: "b")
    }
    #expect(try range(after: nil) == [.text("b"), .text("b\u{10FFFF}"), .int(8)])
    #expect(try range(after: "b1") == [.text("b1\u{1}"), .text("b\u{10FFFF}"), .int(8)])
  }

  @Test("pages of users contain each once, also those whose ids begin with the last of a page")
  func usersHavePages() async throws {
    let component = try await Fixture().open()
    let users = ["a", "b", "b-1", "b.", "b1", "b10", "b2", "bb", "c"]
    for name in users { _ = try await component.service.makeBucket("b", user(name)) }
    for size in 1...9 as ClosedRange<Int32> {
      for prefix in ["", "b", "b1", "c", "d"] {
        let listed = try await all(size) {
          let page = try await component.delivery.listNotificationUsers(
            .init(pageSize: $0, pageToken: $1, userIdPrefix: prefix), context: admin)
          return (page.users.map(\.userId), page.nextPageToken)
        }
        #expect(listed == users.filter { $0.hasPrefix(prefix) })
      }
    }
    await component.close()
  }
}
