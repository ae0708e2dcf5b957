import CampanileAPI
import CampanileRPC
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// Each wrong token costs a signature check, so an address may present only a few, on whichever path.
@Suite struct WrongTokenTests {
  private static func with(burst: Int = 10_000, _ body: (HTTPHarness, String) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("jwks.json")
    try TokenFixtures.keySet.write(toFile: file, atomically: true, encoding: .utf8)
    let wrong = try #require(TokenFixtures.tokens["otherKey"])
    try await withHTTP(
      { _ in },
      gateway: {
        $0.tokens = TokenPolicy(keySetFile: file, issuer: TokenFixtures.issuer, audiences: ["campanile"])
        $0.limits.anonymousRate = RateLimit(perSecond: 1, burst: burst)
      },
      dialects: {
        $0.enabled = Set(Dialect.allCases)
        $0.firebase.app = "app"
      }
    ) { try await body($0, wrong) }
  }

  @Test(arguments: [
    ("GET", "/nothing"), ("OPTIONS", "/v1/echo"), ("GET", "/healthz"), ("GET", "/api/fratelli"),
    ("GET", "/api/nothing"),
    ("POST", "/api/v1/messages"), ("POST", "/updateLiveActivity"), ("GET", "/v1/echo/a"), ("DELETE", "/v1/echo"),
  ])
  func wrongTokensCountOnEveryPath(verb: String, path: String) async throws {
    try await Self.with { http, wrong in
      let refusals = http.harness.gateway.admission.addresses.share(of: "127.0.0.1", nowNs: 0).refusals
      func present() async throws {
        let answer = try await HTTPWire.exchange(port: http.port, verb, path, ["Authorization": "Bearer \(wrong)"])
        #expect(answer.status == 401)
      }
      // The bucket needs something to refill.
      try await present()
      #expect(try await HTTPHeadTests.tokens(refusals) { try await present() } == 1)
      // A key costs no signature check.
      #expect(try await HTTPHeadTests.tokens(refusals) { _ = try await http.get("/v1/echo/a") } == 0)
    }
  }

  @Test func wrongTokensCountInHello() async throws {
    try await Self.with { http, wrong in
      let refusals = http.harness.gateway.admission.addresses.share(of: "127.0.0.1", nowNs: 0).refusals
      _ = try await RawSocket.exchange(port: http.harness.port, token: wrong)
      let count = try await HTTPHeadTests.tokens(refusals) {
        let answer = try await RawSocket.exchange(port: http.harness.port, token: wrong)
        #expect(answer.contains("CREDENTIAL_INVALID"), "\(answer)")
      }
      #expect(count == 1)
    }
  }

  @Test func addressWithTooManyWrongTokensIsRefusedButKeysAreServed() async throws {
    try await Self.with(burst: 3) { http, wrong in
      var answers: [String] = []
      for _ in 0..<20 { answers.append(try await RawSocket.exchange(port: http.harness.port, token: wrong)) }
      #expect(answers.contains { $0.contains("RATE_LIMITED") }, "\(answers)")
      #expect(try await http.get("/v1/echo/a").status == 200)
      let client = try http.harness.client(token: http.secret)
      _ = try await EchoServiceClient(client).echo(EchoRequest("a"))
    }
  }
}
