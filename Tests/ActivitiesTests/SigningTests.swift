import APNs
import CampanileAPI
import CampanileBase
import CampanileCrypto
import CampanileRPC
import Foundation
import TestSupport
import Testing

@testable import Activities

/// Provider tokens and signing keys ("Establishing a token-based connection to APNs").
@Suite struct SigningTests {
  private static let minute: Int64 = 60_000

  @Test func tokenIsRenewedByTheMonotonicClock() {
    var state = ProviderTokenState()
    #expect(state.current(wallMs: 0, steadyMs: 0) == nil)
    #expect(state.rejected("x", wallMs: 0, steadyMs: 0) == .issue)
    state.issue("t1", wallMs: 1_000, steadyMs: 0)
    #expect(state.current(wallMs: 1_000, steadyMs: 39 * Self.minute) == "t1")
    // Jumps of the wall clock in either direction have no effect.
    #expect(state.current(wallMs: .max / 2, steadyMs: 39 * Self.minute) == "t1")
    #expect(state.current(wallMs: -1, steadyMs: 39 * Self.minute) == "t1")
    #expect(state.renewsInMs(wallMs: 0, steadyMs: 39 * Self.minute) == Self.minute)
    #expect(state.current(wallMs: 1_000, steadyMs: 40 * Self.minute) == nil)
  }

  @Test func rejectedTokenIsRenewedAtMostEveryTwentyMinutes() {
    var state = ProviderTokenState()
    state.issue("t1", wallMs: 0, steadyMs: 0)
    #expect(state.rejected("t0", wallMs: 0, steadyMs: 0) == .useCurrent)
    #expect(state.rejected("t1", wallMs: 0, steadyMs: 5 * Self.minute) == .wait(ms: 15 * Self.minute))
    // From then on, the next caller gets a new token.
    #expect(state.current(wallMs: 0, steadyMs: 19 * Self.minute) == "t1")
    #expect(state.current(wallMs: 0, steadyMs: 20 * Self.minute) == nil)
    #expect(state.rejected("t1", wallMs: 0, steadyMs: 20 * Self.minute) == .issue)
    state.issue("t2", wallMs: 0, steadyMs: 20 * Self.minute)
    #expect(state.rejected("t1", wallMs: 0, steadyMs: 21 * Self.minute) == .useCurrent)
    #expect(state.rejected("t2", wallMs: 0, steadyMs: 21 * Self.minute) == .wait(ms: 19 * Self.minute))
    #expect(state.renewsInMs(wallMs: 0, steadyMs: 21 * Self.minute) == 19 * Self.minute)
  }

  @Test func storedTokenAgesByTheWallClock() {
    var state = ProviderTokenState(.init(token: "t1", issuedAtMs: 100 * Self.minute))
    #expect(state.current(wallMs: 110 * Self.minute, steadyMs: 0) == "t1")
    #expect(state.current(wallMs: 140 * Self.minute, steadyMs: 0) == nil)
    // The clock was set back, so the age is unknown and the token would appear to come from the future.
    #expect(state.current(wallMs: 99 * Self.minute, steadyMs: 0) == nil)
    #expect(state.rejected("t1", wallMs: 99 * Self.minute, steadyMs: 0) == .issue)
    #expect(state.rejected("t1", wallMs: 105 * Self.minute, steadyMs: 0) == .wait(ms: 15 * Self.minute))
  }

  @Test func oneTokenIsSharedAndSurvivesARestart() async throws {
    let first = try await DeliveryHarness()
    let id = SigningKeyID(teamID: DeliveryHarness.team, keyID: "KEY1111111")
    let tokens = first.running.tokens
    let all = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await tokens.token(of: id).token } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(all.count == 1)
    let token = try #require(all.first)
    let claims = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
    #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"TEAM123456","iat":1700000000}"#)
    await first.close()
    first.clock.advance(by: .milliseconds(10 * Self.minute))
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    #expect(try await second.running.tokens.token(of: id).token == token)
    // Rejected too early: the pushes wait for the twentieth minute.
    #expect(try await second.running.tokens.rejected(token, of: id) == second.clock.nowMs + 10 * Self.minute)
    second.clock.advance(by: .milliseconds(10 * Self.minute))
    #expect(try await second.running.tokens.rejected(token, of: id) == second.clock.nowMs)
    let renewed = try await second.running.tokens.token(of: id)
    #expect(renewed.token != token)
    #expect(renewed.issuedAtMs == second.clock.nowMs)
    await second.remove()
  }

  @Test func expiredTokenIsRenewedAndThePushRetriedOnce() async throws {
    let harness = try await DeliveryHarness()
    try await harness.enqueue(harness.order("a1", .alert))
    let first = try #require(try await harness.send().first)
    harness.clock.advance(by: .milliseconds(30 * Self.minute))
    harness.sender.answer(first, status: 403, "ExpiredProviderToken")
    let second = try #require(try await harness.send().first)
    #expect(second.id == first.id)
    #expect(second.authorization != first.authorization)
    harness.sender.answer(second, status: 403, "ExpiredProviderToken")
    #expect(try await harness.send().isEmpty)
    #expect(try harness.count("dead_letters") == 1)
    await harness.remove()
  }

  @Test func pushWaitsUntilANewTokenIsAllowed() async throws {
    let harness = try await DeliveryHarness()
    try await harness.enqueue(harness.order("a1", .alert))
    let first = try #require(try await harness.send().first)
    harness.clock.advance(by: .milliseconds(5 * Self.minute))
    harness.sender.answer(first, status: 403, "ExpiredProviderToken")
    #expect(try await harness.send().isEmpty)
    harness.clock.advance(by: .milliseconds(15 * Self.minute))
    let second = try #require(try await harness.send().first)
    #expect(second.authorization != first.authorization)
    harness.sender.answer(second, status: 200)
    _ = try await harness.send()
    #expect(try harness.counted(.accepted) == 1)
    await harness.remove()
  }

  @Test func closestMatchingKeySigns() throws {
    func key(_ apps: [String], _ environments: [String] = []) -> SigningKey {
      SigningKey(environments: environments, apps: apps)
    }
    func rank(_ key: SigningKey) -> Int? { SigningKeys.rank(key, app: "com.example.app", environment: "sandbox") }
    let ascending = [
      key([]), key([], ["sandbox"]), key(["com.*"]), key(["com.*"], ["sandbox"]), key(["com.example.*"]),
      key(["other", "com.example.app"]), key(["com.example.app"], ["sandbox", "production"]),
    ].map(rank)
    #expect(!ascending.contains(nil))
    #expect(ascending.compactMap { $0 } == ascending.compactMap { $0 }.sorted())
    #expect(Set(ascending).count == ascending.count)
    for none in [key(["com.example"]), key(["com.example.app2"]), key(["com.example.app.*"]), key([], ["production"])] {
      #expect(rank(none) == nil)
    }
  }

  @Test func revokedKeyIsNotLoadedAgain() async throws {
    let harness = try await DeliveryHarness(keys: ["KEYAAAAAAA": [], "KEYBBBBBBB": ["com.example.b"]])
    let keys = harness.delivery.keys
    #expect(keys.id(app: "com.example.b", environment: "x")?.keyID == "KEYBBBBBBB")
    #expect(keys.id(app: "com.example.c", environment: "x")?.keyID == "KEYAAAAAAA")
    keys.revoke(SigningKeyID(teamID: DeliveryHarness.team, keyID: "KEYBBBBBBB"))
    #expect(keys.id(app: "com.example.b", environment: "x")?.keyID == "KEYAAAAAAA")
    // The key's file still exists.
    harness.delivery.loadKeys()
    #expect(keys.id(app: "com.example.b", environment: "x")?.keyID == "KEYAAAAAAA")
    await harness.remove()
  }

  @Test func unusableKeyFilesAreReported() throws {
    let folder = NSTemporaryDirectory() + "campanile-keys-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = SigningKeyFiles(directory: folder, teamID: nil)
    #expect(files.read().problems.count == 1)
    let pem = try ES256PrivateKey.generate().privatePEM()
    let good = SigningKey(teamId: "TEAM123456", keyId: "GOOD111111")
    try files.write(good, pem: pem)
    func write(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) throws {
      try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)"))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(folder)/\(name)")
    }
    try write("AuthKey_OPEN111111.p8", pem, mode: 0o644)
    try write("AuthKey_NOTEAM1111.p8", pem)
    try write("AuthKey_short.p8", pem)
    try write("AuthKey_BADJSON111.p8", pem)
    try write("AuthKey_BADJSON111.json", Array(#"{"teamId":5}"#.utf8))
    try write("AuthKey_CUT1111111.p8", Array(pem.prefix(60)))
    try write("notes.txt", pem)
    let contents = files.read()
    #expect(contents.entries.map(\.id) == [SigningKeyID(teamID: "TEAM123456", keyID: "GOOD111111")])
    #expect(contents.problems.count == 5)
    for name in ["OPEN111111", "NOTEAM1111", "short", "BADJSON111", "CUT1111111"] {
      #expect(contents.problems.contains { $0.contains(name) }, "\(name)")
    }
    let withTeam = SigningKeyFiles(directory: folder, teamID: "TEAM654321").read()
    #expect(withTeam.entries.map(\.id.keyID).contains("NOTEAM1111"))
    files.remove("GOOD111111")
    files.remove("../GOOD111111")
    #expect(files.read().entries.isEmpty)
  }
}
