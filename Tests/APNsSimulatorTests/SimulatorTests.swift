import APNs
import CampanileBase
import CampanileCrypto
import Synchronization
import Testing

@testable import APNsSimulator

@Suite struct SimulatorTests {
  @Test func signedTokensAreVerifiedAndForgedOnesRefused() throws {
    let bench = try Bench()
    let other = try ES256PrivateKey.generate()
    #expect(try bench.push(bench.update("{}", at: 1)).text == "200")
    for wrong in [
      try bench.authorization(key: other), try bench.authorization(keyID: "UNKNOWN123"),
      try bench.authorization(teamID: "OTHER12345"), try bench.authorization() + "x", "bearer a.b", "bearer a.b.c",
      "bearer " + String(repeating: "a", count: 4000), "basic abc", "bearer ",
    ] {
      bench.connection = ConnectionUse(number: 2)
      #expect(try bench.push("{}", authorization: wrong).text == "403 InvalidProviderToken")
    }
  }

  @Test(arguments: [
    #"{"alg":"none","kid":"ABCDE12345"}"#, #"{"alg":"HS256","kid":"ABCDE12345"}"#, #"{"kid":"ABCDE12345"}"#,
    #"{"alg":"ES256"}"#, "[]", "", #"{"alg":"ES256","kid":5}"#,
  ])
  func otherJWTHeadersAreRejected(header: String) throws {
    let bench = try Bench()
    let input = [header, #"{"iss":"TEAM123456","iat":1795262400}"#].map { Base64URL.encode(Array($0.utf8)) }
      .joined(separator: ".")
    let signature = try bench.key.sign(Array(input.utf8))
    let field = "bearer \(input).\(Base64URL.encode(signature.raw))"
    #expect(try bench.push("{}", authorization: field).text == "403 InvalidProviderToken")
  }

  @Test func renewalIsLimitedByConnectionOrByKey() throws {
    let bench = try Bench()
    let first = try bench.authorization()
    #expect(try bench.push(bench.update("{}", at: 1), authorization: first).text == "200")
    bench.advance(seconds: 60)
    let second = try bench.authorization()
    #expect(try bench.push("{}", authorization: second).text == "429 TooManyProviderTokenUpdates")
    bench.connection = ConnectionUse(number: 2)
    #expect(try bench.push(bench.update("{}", at: 1), authorization: second).text == "200")
    bench.simulator.state.withLock { $0.limits.tokenRenewalScope = .key }
    bench.connection = ConnectionUse(number: 3)
    bench.advance(seconds: 60)
    #expect(try bench.push("{}", authorization: try bench.authorization()).text == "429 TooManyProviderTokenUpdates")
    // A token signed again for the same second is not a renewal.
    let again = try bench.authorization(issuedAtSeconds: bench.nowSeconds - 60)
    #expect(again != second)
    #expect(try bench.push(bench.update("{}", at: 1), authorization: again).text == "200")
    bench.advance(seconds: 1200)
    #expect(try bench.push(bench.update("{}", at: 1), authorization: try bench.authorization()).text == "200")
  }

  @Test func removedKeysAreRejectedImmediately() throws {
    let bench = try Bench()
    #expect(try bench.push(bench.update("{}", at: 1)).text == "200")
    #expect(bench.simulator.state.withLock { $0.keyring.remove("ABCDE12345") })
    #expect(try bench.push(bench.update("{}", at: 1)).text == "403 InvalidProviderToken")
  }

  @Test func invalidKeysAreRejected() throws {
    let bench = try Bench()
    for pem in ["", "nonsense", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
      #expect(throws: CryptoError.self) {
        try bench.simulator.add(SigningKey(teamID: "T", keyID: "K", publicKeyPEM: pem))
      }
    }
  }

  @Test func tokensBelongToTheFirstAppThatUsesThem() throws {
    let bench = try Bench()
    bench.simulator.state.withLock { $0.keyring = SigningKeyring() }
    try bench.simulator.add(
      SigningKey(teamID: "TEAM123456", keyID: "ABCDE12345", publicKeyPEM: bench.key.publicKey.pem))
    #expect(try bench.push(bench.update("{}", at: 1)).text == "200")
    #expect(
      try bench.push("{}", topic: "com.other.push-type.liveactivity").text == "400 DeviceTokenNotForTopic")
    #expect(try bench.push("{}", pushType: "alert", topic: bundleID).text == "400 DeviceTokenNotForTopic")
    // The same token in upper case.
    #expect(try bench.push(bench.update("{}", at: 2), to: deviceToken.uppercased()).text == "200")
    #expect(bench.screen()?.updates == 2)
  }

  @Test func idsAreEchoedOrGenerated() throws {
    let bench = try Bench()
    let id = "6f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0"
    #expect(try bench.push(bench.update("{}", at: 1), id: id).answer?.id == id)
    #expect(try bench.push(bench.update("{}", at: 1)).answer?.id.hasPrefix("00000000-0000-4000") == true)
  }

  @Test func pushesAreLoggedWithinTheirLimit() throws {
    var limits = SimulatorLimits()
    limits.loggedPushesMax = 3
    let bench = try Bench(limits)
    for number in 1...5 { _ = try bench.push(bench.update("{}", at: Int64(number))) }
    let log = bench.simulator.state.withLock { $0.log }
    #expect(log.entries(after: 0, limit: 10).map(\.sequence) == [3, 4, 5])
    #expect(log.entries(after: 4, limit: 10).map(\.sequence) == [5])
    #expect(log.entries(after: 0, limit: 2).map(\.sequence) == [3, 4])
    #expect(log.entries(after: 5, limit: 2).isEmpty)
    #expect(log.entries(after: 99, limit: 2).isEmpty)
    #expect(log.lastSequence == 5)
  }

  @Test func screensAreBounded() throws {
    var limits = SimulatorLimits()
    limits.screensMax = 2
    let bench = try Bench(limits)
    for token in ["aa", "bb", "cc"] { #expect(try bench.push(bench.update("{}", at: 1), to: token).text == "200") }
    let (count, untracked) = bench.simulator.state.withLock { ($0.screens.count, $0.statistics.untracked) }
    #expect(count == 2)
    #expect(untracked == 1)
  }
}
