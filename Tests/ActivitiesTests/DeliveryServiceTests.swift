import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileStore
import Foundation
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// The operator's calls: the delivery log, dead letters, statistics and signing keys.
@Suite struct DeliveryServiceTests {
  private func with(_ body: (DeliveryHarness, PushDeliveryService, SigningService) async throws -> Void) async throws {
    let harness = try await DeliveryHarness()
    let clock = harness.clock
    let service = PushDeliveryService(
      store: harness.store, clockMs: { clock.nowMs }, notifier: harness.delivery.notifier, limits: ActivitiesLimits())
    do {
      try await body(harness, service, SigningService(delivery: harness.running, limits: ActivitiesLimits()))
    } catch {
      await harness.remove()
      throw error
    }
    await harness.remove()
  }

  private func context(scopes: [String] = ["admin"]) -> CallContext {
    CallContext(
      method: PushDeliveryServiceMethods.getPush, principal: Principal(kind: .user, id: "operator", scopes: scopes))
  }

  @Test func pushIsTrackedFromTheQueueToTheDeliveryLog() async throws {
    try await with { harness, service, _ in
      var order = harness.order("a1")
      order.traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      let id = try await harness.enqueue(order)[0]
      var request = GetPushRequest(apnsId: id)
      #expect(try await service.getPush(request, context: context()).push?.status == .waiting)
      let sent = try #require(try await harness.send().first)
      #expect(try await service.getPush(request, context: context()).push?.status == .sending)
      harness.clock.advance(by: .milliseconds(25))
      harness.sender.answer(sent, status: 200)
      _ = try await harness.send()
      let push = try #require(try await service.getPush(request, context: context()).push)
      #expect(push.status == .accepted)
      #expect(push.action == .update)
      #expect(push.httpStatus == 200)
      #expect(push.attemptCount == 1)
      #expect(push.latency?.milliseconds == 25)
      #expect(push.urgency == .high)
      #expect(push.app == DeliveryHarness.app)
      #expect(push.traceId == "0af7651916cd43dd8448eb211c80319c")
      request.apnsId = "none"
      let missing = await #expect(throws: RPCError.self) { try await service.getPush(request, context: self.context()) }
      #expect(missing?.reason == "PUSH_NOT_FOUND")
    }
  }

  @Test func pushesAreListedNewestFirst() async throws {
    try await with { harness, service, _ in
      var ids: [String] = []
      for index in 0..<5 {
        ids += try await harness.enqueue(harness.order("a\(index % 2)", .alert))
        harness.sender.answer(try #require(try await harness.send().first), status: 200)
      }
      _ = try await harness.send()
      var request = ListPushesRequest(pageSize: 2)
      var found: [String] = []
      repeat {
        let page = try await service.listPushes(request, context: context())
        found += page.pushes.map(\.apnsId)
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(found == ids.reversed())
      let ofActivity = ListPushesRequest(activityId: "a1")
      #expect(try await service.listPushes(ofActivity, context: context()).pushes.map(\.apnsId) == [ids[3], ids[1]])
      var ofUser = ListPushesRequest(userId: "u1")
      #expect(try await service.listPushes(ofUser, context: context()).pushes.count == 5)
      ofUser.activityId = "a1"
      await #expect(throws: RPCError.self) { try await service.listPushes(ofUser, context: self.context()) }
    }
  }

  @Test func deadLettersAreReplayedUnderTheirIds() async throws {
    try await with { harness, service, _ in
      let id = try await harness.enqueue(harness.order("a1", .alert, "x"))[0]
      harness.sender.answer(try #require(try await harness.send().first), status: 403, "InvalidProviderToken")
      _ = try await harness.send()
      let listed = try await service.listDeadLetters(ListDeadLettersRequest(), context: context()).pushes
      #expect(listed.map(\.apnsId) == [id])
      #expect(listed.first?.reason == "InvalidProviderToken")
      #expect(listed.first?.status == .deadLetter)
      let response = try await service.replayDeadLetters(.init(apnsIds: [id, "unknown"]), context: context())
      #expect(response.replayedCount == 1)
      #expect(response.missingIds == ["unknown"])
      let again = try #require(try await harness.send().first)
      #expect(again.id == id)
      #expect(again.payload == Array("x".utf8))
      harness.sender.answer(again, status: 200)
      _ = try await harness.send()
      #expect(try await service.getPush(.init(apnsId: id), context: context()).push?.status == .accepted)
      #expect(try harness.count("dead_letters") == 0)
    }
  }

  @Test func replayDropsASupersededState() async throws {
    try await with { harness, service, _ in
      let id = try await harness.enqueue(harness.order("a1", .update, "old"))[0]
      harness.sender.answer(try #require(try await harness.send().first), status: 413, "PayloadTooLarge")
      _ = try await harness.send()
      try await harness.enqueue(harness.order("a1", .update, "new"))
      #expect(try await service.replayDeadLetters(.init(apnsIds: [id]), context: context()).supersededCount == 1)
      harness.clock.advance(by: .seconds(10))
      #expect(try await harness.sendTexts() == ["new"])
      #expect(try harness.count("dead_letters") == 0)
    }
  }

  @Test func deadLettersAreDeleted() async throws {
    try await with { harness, service, _ in
      let id = try await harness.enqueue(harness.order("a1", .alert))[0]
      harness.sender.answer(try #require(try await harness.send().first), status: 400, "BadTopic")
      _ = try await harness.send()
      var request = DeleteDeadLettersRequest(apnsIds: [id, id])
      #expect(try await service.deleteDeadLetters(request, context: context()).deletedCount == 1)
      request.apnsIds = []
      await #expect(throws: RPCError.self) { try await service.deleteDeadLetters(request, context: self.context()) }
    }
  }

  @Test func statisticsCountByHour() async throws {
    try await with { harness, service, _ in
      for index in 0..<10 {
        try await harness.enqueue(harness.order("a\(index)"))
        let request = try #require(try await harness.send().first)
        harness.clock.advance(by: .milliseconds(Int64(index + 1) * 10))
        harness.sender.answer(request, status: index == 9 ? 410 : 200, index == 9 ? "Unregistered" : "")
        _ = try await harness.send()
      }
      harness.clock.advance(by: .seconds(3600))
      var request = ListPushStatisticsRequest(app: DeliveryHarness.app)
      let hours = try await service.listPushStatistics(request, context: context()).hours
      #expect(hours.count == 1)
      let hour = try #require(hours.first)
      #expect(hour.acceptedCount == 9)
      #expect(hour.rejectedCounts == ["Unregistered": 1])
      #expect(hour.retiredTokenCount == 1)
      #expect((45...57).contains(hour.latencyP50?.milliseconds ?? 0))
      #expect((79...101).contains(hour.latencyP99?.milliseconds ?? 0))
      #expect((hour.startTime?.seconds ?? 1) % 3_600 == 0)
      request.app = ""
      await #expect(throws: RPCError.self) { try await service.listPushStatistics(request, context: self.context()) }
    }
  }

  @Test func statisticsArePaged() async throws {
    try await with { harness, service, _ in
      for index in 0..<5 {
        try await harness.enqueue(harness.order("a\(index)"))
        harness.sender.answer(try #require(try await harness.send().first), status: 200)
        _ = try await harness.send()
        harness.clock.advance(by: .milliseconds(2 * 3_600_000))
      }
      var request = ListPushStatisticsRequest(app: DeliveryHarness.app, pageSize: 2)
      var hours: [PushStatistics] = []
      repeat {
        let page = try await service.listPushStatistics(request, context: context())
        #expect(page.hours.count <= 2)
        hours += page.hours
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(hours.count == 5 && Set(hours.map { $0.startTime?.seconds }).count == 5)
      #expect(hours.allSatisfy { $0.acceptedCount == 1 && $0.latencyP90 != nil })
    }
  }

  @Test("a dead letter has the attempts and latency of the delivery log, and outlives it")
  func deadLetterMatchesTheDeliveryLog() async throws {
    try await with { harness, service, _ in
      let id = try await harness.enqueue(harness.order("a1", .alert))[0]
      let sent = try #require(try await harness.send().first)
      harness.clock.advance(by: .milliseconds(25))
      harness.sender.answer(sent, status: 400, "BadTopic")
      _ = try await harness.send()
      let listed = try #require(try await service.listDeadLetters(.init(), context: context()).pushes.first)
      let got = try await service.getPush(.init(apnsId: id), context: context()).push
      #expect(listed == got && listed.latency?.milliseconds == 25 && listed.attemptCount == 1)
      #expect(listed.pushType == .liveActivity && listed.httpStatus == 400)
      try await harness.store.write { try $0.execute("DELETE FROM push_ledger") }
      let later = try await service.getPush(.init(apnsId: id), context: context()).push
      #expect(later?.status == .deadLetter && later?.latency == nil && later?.attemptCount == 1)
    }
  }

  @Test func repeatedReplayIsAnsweredFromTheStore() async throws {
    try await with { harness, service, _ in
      let id = try await harness.enqueue(harness.order("a1", .alert))[0]
      for _ in 0..<2 {
        harness.sender.answer(try #require(try await harness.send().first), status: 400, "BadTopic")
        _ = try await harness.send()
        let replay = ReplayDeadLettersRequest(apnsIds: [id, "none"], requestId: "once")
        let response = try await service.replayDeadLetters(replay, context: context())
        #expect(response.replayedCount == 1 && response.missingIds == ["none"])
      }
      // The second call was a repetition: the new dead letter is still there.
      #expect(try harness.count("dead_letters") == 1)
      let deleted = try await service.deleteDeadLetters(.init(apnsIds: [id, id, "none"]), context: context())
      #expect(deleted.deletedCount == 1 && deleted.missingIds == [id, "none"])
    }
  }

  @Test func onlyOperatorsMayCall() async throws {
    try await with { _, service, signing in
      let context = context(scopes: ["activities"])
      await #expect(throws: RPCError.self) { try await service.getPush(GetPushRequest(), context: context) }
      await #expect(throws: RPCError.self) { try await service.listPushes(ListPushesRequest(), context: context) }
      await #expect(throws: RPCError.self) {
        try await service.listDeadLetters(ListDeadLettersRequest(), context: context)
      }
      await #expect(throws: RPCError.self) {
        try await service.replayDeadLetters(ReplayDeadLettersRequest(), context: context)
      }
      await #expect(throws: RPCError.self) {
        try await signing.signProviderToken(SignProviderTokenRequest(), context: context)
      }
      await #expect(throws: RPCError.self) {
        try await signing.putSigningKey(PutSigningKeyRequest(), context: context)
      }
      await #expect(throws: RPCError.self) {
        try await signing.listSigningKeys(ListSigningKeysRequest(), context: context)
      }
      await #expect(throws: RPCError.self) {
        try await signing.revokeSigningKey(RevokeSigningKeyRequest(), context: context)
      }
    }
  }

  @Test func otherSendersGetTheSameProviderToken() async throws {
    try await with { harness, _, signing in
      var request = SignProviderTokenRequest(keyId: "KEY1111111")
      let first = try await signing.signProviderToken(request, context: context())
      try await harness.enqueue(harness.order("a1"))
      #expect(try await harness.send().first?.authorization == "bearer " + first.token)
      #expect(first.issueTime?.millisecondsSince1970 == harness.clock.nowMs)
      #expect(first.renewTime?.millisecondsSince1970 == harness.clock.nowMs + 40 * 60_000)
      request.keyId = "NONE111111"
      let missing = await #expect(throws: RPCError.self) {
        try await signing.signProviderToken(request, context: self.context())
      }
      #expect(missing?.reason == "SIGNING_KEY_NOT_FOUND")
    }
  }

  @Test func keyBeyondTheLimitIsNotStored() async throws {
    try await with { harness, _, signing in
      let keys = harness.delivery.keys
      let key = SigningKey(teamId: DeliveryHarness.team, keyId: "AAAAAAAAAA")
      let privateKey = try ES256PrivateKey.generate()
      for number in keys.all.count..<SigningKeys.countMax {
        var other = key
        other.keyId = "KEY\(1_000_000 + number)"
        #expect(keys.add(.init(description: other, key: privateKey)))
      }
      var create = PutSigningKeyRequest(
        key: key, privateKeyPem: String(decoding: try privateKey.privatePEM(), as: UTF8.self))
      let full = await #expect(throws: RPCError.self) {
        try await signing.putSigningKey(create, context: self.context())
      }
      #expect(full?.reason == "SIGNING_KEYS_EXHAUSTED")
      #expect(!FileManager.default.fileExists(atPath: "\(harness.folder)/added/AuthKey_AAAAAAAAAA.p8"))
      #expect(!FileManager.default.fileExists(atPath: "\(harness.folder)/added/AuthKey_AAAAAAAAAA.json"))
      // A key in use may be replaced at the limit.
      create.key?.keyId = "KEY1111111"
      _ = try await signing.putSigningKey(create, context: context())
      // A place that becomes free is not taken by the rejected key.
      keys.revoke(SigningKeyID(teamID: DeliveryHarness.team, keyID: "KEY1111111"))
      harness.delivery.loadKeys()
      #expect(keys.ids(keyID: "AAAAAAAAAA").isEmpty)
    }
  }

  @Test func keysAreAddedAndRevoked() async throws {
    try await with { harness, _, signing in
      let key = SigningKey(teamId: DeliveryHarness.team, keyId: "NEWKEY1111", apps: ["com.example.new"])
      let create = PutSigningKeyRequest(
        key: key, privateKeyPem: String(decoding: try ES256PrivateKey.generate().privatePEM(), as: UTF8.self))
      _ = try await signing.putSigningKey(create, context: context())
      let keys = harness.delivery.keys
      #expect(keys.id(app: "com.example.new", environment: "production")?.keyID == "NEWKEY1111")
      let listed = try await signing.listSigningKeys(ListSigningKeysRequest(), context: context())
      #expect(listed.keys.map(\.keyId) == ["KEY1111111", "NEWKEY1111"])
      let first = try await signing.listSigningKeys(.init(pageSize: 1), context: context())
      let rest = try await signing.listSigningKeys(
        .init(pageSize: 1, pageToken: first.nextPageToken), context: context())
      #expect(first.keys + rest.keys == listed.keys && rest.nextPageToken.isEmpty)
      // The same request replaces the key by itself, and reports its provider token.
      let issued = try await signing.signProviderToken(.init(keyId: "NEWKEY1111"), context: context())
      let put = try await signing.putSigningKey(create, context: context())
      #expect(put.key?.tokenTime == issued.issueTime && put.key?.keyId == "NEWKEY1111")
      #expect(!listed.jsonString().contains("PRIVATE"))
      let path = "\(harness.folder)/added/AuthKey_NEWKEY1111.p8"
      if TestStore.usesPostgreSQL {
        // It is a row.
        #expect(!FileManager.default.fileExists(atPath: path))
      } else {
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
      }
      let revoke = RevokeSigningKeyRequest(keyId: "NEWKEY1111", teamId: DeliveryHarness.team)
      _ = try await signing.revokeSigningKey(revoke, context: context())
      _ = try await signing.revokeSigningKey(revoke, context: context())
      #expect(keys.id(app: "com.example.new", environment: "production")?.keyID == "KEY1111111")
      #expect(!FileManager.default.fileExists(atPath: path))
      let again = await #expect(throws: RPCError.self) {
        try await signing.putSigningKey(create, context: self.context())
      }
      #expect(again?.reason == "SIGNING_KEY_REVOKED")
    }
  }

  @Test func invalidKeysAreRejectedByField() async throws {
    try await with { _, _, signing in
      let key = SigningKey(teamId: "lower12345", keyId: "short", environments: ["x/y"], apps: ["a b"])
      let create = PutSigningKeyRequest(key: key, privateKeyPem: "-----BEGIN PRIVATE KEY-----\nsecret")
      let error = await #expect(throws: RPCError.self) {
        try await signing.putSigningKey(create, context: self.context())
      }
      #expect(
        error?.fieldViolations.map(\.field) == [
          "key.teamId", "key.keyId", "key.environments[0]", "key.apps[0]", "privateKeyPem",
        ])
      #expect(error?.message.contains("secret") == false)
    }
  }
}
