import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

@Suite struct TokenTests {
  @Test func tokensAreReturnedRedacted() async throws {
    let component = try await Fixture().open()
    let digits = "abcd" + String(repeating: "0", count: 56) + "4321"
    let registered = try await component.register(token(.device, digits.uppercased()), anna)
    #expect(registered.redactedToken == "abcd…4321" && registered.sizeBytes == 32)
    let found = try await component.tokens.getPushToken(.init(tokenId: registered.id), context: anna)
    #expect(found.token == registered)
    #expect(!found.jsonString().contains(digits))
    let stored = try component.store.readBlocking { try component.repository.token(registered.id, in: $0) }
    #expect(stored?.token.hexadecimal == digits)
    #expect(!"\(String(describing: stored))".contains(digits))
    await component.close()
  }

  @Test func olderTokenNeverReplacesANewerOne() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    func register(_ number: Int, atMs: Int64) async throws -> RegisterPushTokenResponse {
      var request = token(.device, hex(number))
      request.tokenTime = ProtoTimestamp(millisecondsSince1970: atMs)
      return try await component.tokens.registerPushToken(request, context: anna)
    }
    let first = try await register(1, atMs: Fixture.startMs - 5_000)
    let newer = try await register(2, atMs: Fixture.startMs - 1_000)
    #expect(newer.token?.id == first.token?.id && !newer.superseded)
    let older = try await register(1, atMs: Fixture.startMs - 2_000)
    #expect(older.superseded && older.token?.redactedToken == newer.token?.redactedToken)
    // A clock far ahead counts as one minute ahead, so that it cannot block later tokens for ever.
    let future = try await register(3, atMs: Fixture.startMs + 10 * 365 * 86_400_000)
    #expect(future.token?.tokenTime?.millisecondsSince1970 == Fixture.startMs + 60_000)
    fixture.clock.advance(by: .seconds(61))
    #expect(try await !register(4, atMs: Fixture.startMs + 61_000).superseded)
    await component.close()
  }

  @Test func tokenOfAnotherUserIsRejected() async throws {
    let component = try await Fixture().open()
    let own = try await component.register(token(.device, hex(1)), anna)
    let error = await failure { try await component.register(token(.device, hex(1)), bruno) }
    #expect(error?.code == .alreadyExists && error?.reason == "TOKEN_TAKEN")
    #expect(error?.fieldViolations.map(\.field) == ["token"])
    // After a logout the token is free; within one user it moves.
    _ = try await component.tokens.deletePushToken(.init(tokenId: own.id), context: anna)
    try await component.register(token(.device, hex(1)), bruno)
    let moved = try await component.register(token(.device, hex(1), installation: "new"), bruno)
    let list = try await component.tokens.listPushTokens(.init(), context: bruno)
    #expect(list.tokens == [moved])
    await component.close()
  }

  @Test func movedTokenLeavesItsFormerInstallation() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    let first = try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    let moved = try await component.register(
      token(.activityUpdate, hex(1), activity: "a", installation: "again"), anna)
    #expect(moved.id != first.id)
    _ = try await component.sendAll()
    _ = try await component.update("a", #"{"n":1}"#, anna)
    #expect(try component.queued().map(\.target) == [moved.id])
    #expect(try await component.get("a", anna).updateTokenCount == 1)
    #expect(try component.store.readBlocking { try component.repository.counts(user: "anna", $0) }.tokens == 1)
    await component.close()
  }

  @Test func tokensRetireUnlessRegisteredLater() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    let id = try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna).id
    let repository = component.repository
    func retire(_ rejectedAtMs: Int64?, _ number: Int = 1) async throws -> Bool {
      try await component.store.write {
        try repository.retire(
          id, token: DeviceToken(hex(number)), reason: .unregistered, rejectedAtMs: rejectedAtMs, in: $0)
      }
    }
    #expect(try await !retire(Fixture.startMs - 1))
    // The rejected token is no longer that of this id.
    #expect(try await !retire(nil, 2))
    #expect(try await component.get("a", anna).updateTokenCount == 1)
    #expect(try await retire(Fixture.startMs))
    #expect(try await !retire(Fixture.startMs))
    #expect(try await component.get("a", anna).updateTokenCount == 0)
    #expect(try component.store.readBlocking { try repository.token(id, in: $0) } == nil)
    #expect(try await component.tokens.listPushTokens(.init(), context: anna).tokens.isEmpty)
    let retired = try await component.tokens.listPushTokens(.init(includeRetired: true), context: anna).tokens
    #expect(retired.map(\.retireReason) == ["Unregistered"])
    // A new token replaces it.
    try await component.register(token(.activityUpdate, hex(2), activity: "a"), anna)
    #expect(try await component.get("a", anna).updateTokenCount == 1)
    await component.close()
  }

  @Test func tokenOfAnEndedActivityReceivesItsEnd() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    let id = try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna).id
    _ = try await component.end("a", anna)
    #expect(
      try component.store.readBlocking { try component.repository.token(id, in: $0) }?.token.hexadecimal == hex(1))
    #expect(try component.queued().map(\.target) == [id])
    fixture.clock.advance(by: .milliseconds(ActivityRetention.retiredRetentionMs + 1))
    try await component.maintain(nowMs: fixture.clock.nowMs)
    #expect(try component.store.readBlocking { try component.repository.token(id, in: $0) } == nil)
    #expect(await failure { try await component.get("a", anna) }?.code == .notFound)
    await component.close()
  }

  @Test func idleTokensAreDeleted() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    try await component.register(token(.device, hex(1)), anna)
    let used = try await component.register(token(.device, hex(2), installation: "pad"), anna)
    fixture.clock.advance(by: .milliseconds(89 * 86_400_000))
    try await component.register(token(.device, hex(2), installation: "pad"), anna)
    fixture.clock.advance(by: .milliseconds(2 * 86_400_000))
    try await component.maintain(nowMs: fixture.clock.nowMs)
    let left = try await component.tokens.listPushTokens(.init(), context: anna).tokens
    #expect(left.map(\.id) == [used.id])
    let counts = try component.store.readBlocking { try component.repository.counts(user: "anna", $0) }
    #expect(counts.tokens == 1)
    await component.close()
  }

  @Test func installationsReportVersionAndFrequentPushes() async throws {
    let component = try await Fixture().open()
    func update(_ change: (inout UpdateInstallationRequest) -> Void) async throws -> Int32 {
      var request = UpdateInstallationRequest(app: app, installationId: "phone")
      change(&request)
      return try await component.tokens.updateInstallation(request, context: anna).tokenCount
    }
    // Without a token nothing is stored.
    #expect(try await update { $0.frequentPushesEnabled = true } == 0)
    var device = token(.device, hex(1))
    device.osVersion = OsVersion(major: 17, minor: 1, patch: 2)
    let first = try await component.register(device, anna)
    #expect(first.osVersion == device.osVersion && first.frequentPushesEnabled == nil)
    #expect(try await update { $0.frequentPushesEnabled = false } == 1)
    // Later tokens have the values of their installation; those of other installations and users do not.
    let start = try await component.register(token(.pushToStart, hex(2)), anna)
    #expect(start.osVersion == device.osVersion && start.frequentPushesEnabled == false)
    #expect(try await component.register(token(.pushToStart, hex(3), installation: "pad"), anna).osVersion == nil)
    #expect(try await component.register(token(.device, hex(4)), bruno).osVersion == nil)
    #expect(try await update { $0.osVersion = OsVersion(major: 17, minor: 10, patch: 0) } == 2)
    let known = try await component.tokens.getPushToken(.init(tokenId: first.id), context: anna).token
    #expect(known?.osVersion?.minor == 10 && known?.frequentPushesEnabled == false)
    // A token that moves takes its installation's values along, even if it is the only one.
    let invalid = await failure { try await update { $0.osVersion = OsVersion(major: 0) } }
    #expect(invalid?.fieldViolations.map(\.field) == ["osVersion.major"])
    await component.close()
  }

  @Test("devices whose system cannot start activities remotely are left out", arguments: [false, true])
  func startsSkipOldSystems(_ hasChannel: Bool) async throws {
    let component = try await Fixture().open()
    var request = try remote("a")
    if hasChannel { request.channelId = "AAAA" }
    let boundary = hasChannel ? OsVersion(major: 18) : OsVersion(major: 17, minor: 2)
    let below = hasChannel ? OsVersion(major: 17, minor: 999, patch: 999) : OsVersion(major: 17, minor: 1, patch: 1_000)
    var old = token(.pushToStart, hex(1))
    old.osVersion = below
    // The owner starts a channel's activity as an operator.
    _ = try await component.tokens.registerPushToken(old, context: admin)
    let refused = await failure { try await component.start(request, admin) }
    #expect(refused?.reason == "PUSH_TO_START_TOKEN_MISSING")
    var new = token(.pushToStart, hex(2), installation: "pad")
    new.osVersion = boundary
    let pad = try await component.register(new, admin)
    let unknown = try await component.register(token(.pushToStart, hex(3), installation: "watch"), admin)
    _ = try await component.start(request, admin)
    #expect(Set(try component.queued().map(\.target)) == [pad.id, unknown.id])
    await component.close()
  }

  @Test("an activity whose user allows frequent updates has a larger budget", arguments: [false, true])
  func frequentPushesEnlargeTheBudget(_ isFrequent: Bool) async throws {
    let fixture = try Fixture()
    let sender = FakeSender()
    let component = try await fixture.open(sender: sender)
    _ = try await component.start(local("a"), anna)
    var request = token(.activityUpdate, hex(1), activity: "a")
    request.frequentPushesEnabled = isFrequent
    try await component.register(request, anna)
    let key = SigningKey(teamId: "TEAM123456", keyId: "KEY1111111")
    #expect(component.delivery.delivery.keys.add(.init(description: key, key: try .generate())))
    var high = 0
    for number in 1...20 {
      _ = try await component.update("a", #"{"n":\#(number)}"#, anna)
      fixture.clock.advance(by: .seconds(1))
      _ = try await component.deliverOnce()
      for sent in sender.takeRequests() {
        if sent.priority == 10 { high += 1 }
        sender.answer(sent, status: 200)
      }
      _ = try await component.deliverOnce()
    }
    #expect(high == (isFrequent ? 20 : 8))
    await component.close()
  }

  @Test func pushToStartTokenMatchesItsAttributesType() async throws {
    let component = try await Fixture().open()
    var typed = token(.pushToStart, hex(1))
    typed.attributesType = "TimerActivityAttributes"
    let own = try await component.register(typed, anna)
    typed.token = hex(2)
    typed.attributesType = "OtherAttributes"
    try await component.register(typed, anna)
    try await component.register(token(.pushToStart, hex(3)), anna)
    _ = try await component.start(remote("a"), anna)
    // One start for each device, with the closest matching token.
    #expect(try component.queued().map(\.target) == [own.id])
    await component.close()
  }
}
