import CampanileAPI
import CampanileBase
import CampanileCrypto
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// The sign-in at the token issuer: the browser's part over HTTP, with an issuer in the same process.
@Suite struct IssuerSignInTests {
  private static let url = "https://push.example/console"

  /// Judges requests as an issuer does, and signs tokens.
  private final class Issuer: IssuerExchanging {
    struct State {
      var metadata: [String: any Sendable] = [
        "issuer": TokenFixtures.issuer, "authorization_endpoint": "https://issuer.example/authorize",
        "token_endpoint": "https://issuer.example/token",
      ]
      var metadataStatus = 200
      var tokenStatus = 200
      var claims: [String: any Sendable] = [:]
      var accessClaims: [String: any Sendable]?
      var hasIDToken = true
      var isCutOff = false
      var requests: [IssuerRequest] = []
      /// The challenge of the authorization request, which the verifier must match.
      var challenge = ""
    }
    let state = Mutex(State())
    let key: ES256PrivateKey

    init() throws { key = try ES256PrivateKey.generate() }

    /// The key set: the last 64 bytes of the SPKI are the point.
    var keySet: String {
      let base64 = key.publicKey.pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
      let point = Array(Data(base64Encoded: base64) ?? Data()).suffix(64)
      let (x, y) = (Base64URL.encode(Array(point.prefix(32))), Base64URL.encode(Array(point.suffix(32))))
      return #"{"keys":[{"kty":"EC","crv":"P-256","kid":"k","use":"sig","x":"\#(x)","y":"\#(y)"}]}"#
    }

    func sign(_ claims: [String: Any], key other: ES256PrivateKey? = nil) throws -> String {
      let seconds = Int(Date().timeIntervalSince1970)
      let all = ["iss": TokenFixtures.issuer, "sub": "ada", "exp": seconds + 300].merging(claims) { $1 }
      let body = try JSONSerialization.data(withJSONObject: all)
      let signed = [Data(#"{"alg":"ES256","kid":"k"}"#.utf8), body].map { Base64URL.encode(Array($0)) }
        .joined(separator: ".")
      return "\(signed).\(Base64URL.encode(try (other ?? key).sign(Array(signed.utf8)).raw))"
    }

    func send(_ request: IssuerRequest) async throws -> (status: Int, body: [UInt8]) {
      let state = state.withLock { state in
        state.requests.append(request)
        return state
      }
      if state.isCutOff { throw CancellationError() }
      guard let form = try request.form.map({ try QueryText($0[...]) }) else {
        let document = try JSONSerialization.data(withJSONObject: state.metadata)
        return (state.metadataStatus, Array(document))
      }
      let challenge = Base64URL.encode(try SHA256.digest(form["code_verifier"] ?? "").bytes)
      guard form["code"] == "c0de", challenge == state.challenge,
        form["redirect_uri"] == IssuerSignInTests.url + "/issuer/callback"
      else { return (400, Array(#"{"error":"invalid_grant"}"#.utf8)) }
      var answer = ["access_token": try state.accessClaims.map { try sign($0) } ?? "opaque"]
      if state.hasIDToken { answer["id_token"] = try sign(state.claims) }
      return (state.tokenStatus, Array(try JSONSerialization.data(withJSONObject: answer)))
    }
  }

  private func with(
    secret: String? = nil, _ body: (HTTPHarness, Issuer) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let issuer = try Issuer()
    try Data(issuer.keySet.utf8).write(to: URL(fileURLWithPath: folder.file("keys.json")))
    try await withHTTP(
      { _ in },
      gateway: {
        $0.consolePath = "/console"
        $0.tokens = TokenPolicy(
          keySetFile: folder.file("keys.json"), issuer: TokenFixtures.issuer, audiences: ["campanile"])
        var registration = IssuerConfiguration(clientID: "con sole", consoleURL: Self.url)
        (registration.clientSecret, registration.scopes) = (secret, ["echo:read"])
        $0.issuerSignIn = registration
        $0.issuerExchange = issuer
      }
    ) { try await body($0, issuer) }
  }

  /// Begins a sign-in. Returns the cookie and the parameters of the issuer's page.
  private func begin(
    _ http: HTTPHarness, _ issuer: Issuer, claims: [String: any Sendable] = [:]
  ) async throws -> (cookie: String, query: QueryText) {
    let answer = try await http.send("GET", "/console/issuer", [:])
    #expect(answer.status == 303)
    let location = try #require(answer.headers["location"])
    #expect(location.hasPrefix("https://issuer.example/authorize?"))
    let query = try QueryText(location.drop { $0 != "?" }.dropFirst())
    let cookie = try #require(answer.headers["set-cookie"])
    #expect(cookie.hasSuffix("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"))
    issuer.state.withLock { state in
      state.challenge = query["code_challenge"] ?? ""
      state.claims = ["aud": "con sole", "nonce": query["nonce"] ?? ""].merging(claims) { $1 }
    }
    return (String(cookie.prefix { $0 != ";" }), query)
  }

  /// Follows the issuer back. Returns the fragment of the console's URL.
  private func finish(
    _ http: HTTPHarness, cookie: String?, _ query: String
  ) async throws -> String {
    let answer = try await http.send(
      "GET", "/console/issuer/callback?\(query)", cookie.map { ["Cookie": $0] } ?? [:])
    #expect(answer.status == 303 && answer.headers["set-cookie"]?.contains("Max-Age=0") == true)
    #expect(answer.headers["cache-control"] == "no-store" && answer.headers["referrer-policy"] == "no-referrer")
    let location = try #require(answer.headers["location"])
    #expect(location.hasPrefix(Self.url + "/#"))
    return String(location.dropFirst(Self.url.count + 2))
  }

  private func signIn(_ http: HTTPHarness, link fragment: String) async throws -> [String: Any] {
    #expect(fragment.hasPrefix("link=csl_"))
    let answer = try await http.send(
      "POST", "/console/session", ConsoleHTTPTests.own.merging(["Content-Type": "application/json"]) { $1 },
      body: #"{"link":"\#(fragment.dropFirst(5))"}"#)
    #expect(answer.status == 200)
    let cookie = answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? ""
    let own = ConsoleHTTPTests.own.merging(["Cookie": cookie]) { $1 }
    let sessions = try await http.send("GET", "/gateway/v1/consoleSessions", own).json["sessions"]
    #expect((sessions as? [[String: Any]])?.first?["method"] as? String == "SIGN_IN_METHOD_ISSUER")
    return try #require(try await http.send("GET", "/gateway/v1/caller", own).json["caller"] as? [String: Any])
  }

  @Test("a sign-in at the issuer opens a session of the console", arguments: [nil, "s:1 &"])
  func codeBecomesASession(secret: String?) async throws {
    try await with(secret: secret) { http, issuer in
      let found = try await http.send("GET", "/console/session", ConsoleHTTPTests.own)
      #expect(found.json["issuer"] as? String == TokenFixtures.issuer)
      let (cookie, query) = try await begin(http, issuer)
      #expect(query["response_type"] == "code" && query["code_challenge_method"] == "S256")
      #expect(query["client_id"] == "con sole" && query["scope"] == "openid echo:read")
      #expect(query["redirect_uri"] == Self.url + "/issuer/callback")
      let state = query["state"] ?? ""
      let fragment = try await finish(http, cookie: cookie, "code=c0de&state=\(state)&iss=https%3A%2F%2Fissuer.example")
      let caller = try await signIn(http, link: fragment)
      #expect(caller["principal"] as? String == "user/ada")
      let request = try #require(issuer.state.withLock { $0.requests.last })
      let form = try QueryText((request.form ?? "")[...])
      #expect(form["client_id"] == (secret == nil ? "con sole" : nil))
      #expect(request.authorization == (secret == nil ? nil : "Basic Y29uJTIwc29sZTpzJTNBMSUyMCUyNg=="))
      // The endpoints are read once.
      #expect(issuer.state.withLock { $0.requests.count } == 2)
    }
  }

  @Test("the access token limits the rights of the session, if the gateway accepts it")
  func accessTokenGrantsRights() async throws {
    try await with { http, issuer in
      for (claims, scopes) in [
        (["aud": "campanile", "scope": "openid echo:read"], ["echo:read"]),
        (["aud": "campanile", "scope": "openid echo:read", "sub": "eve"], []),
        (["aud": "another", "scope": "openid echo:read"], []),
      ] {
        let (cookie, query) = try await begin(http, issuer)
        issuer.state.withLock { $0.accessClaims = claims }
        let caller = try await signIn(
          http, link: try await finish(http, cookie: cookie, "code=c0de&state=\(query["state"] ?? "")"))
        #expect(caller["scopes"] as? [String] ?? [] == scopes)
        #expect(caller["principal"] as? String == "user/ada")
      }
    }
  }

  @Test("responses that another browser, another issuer or nobody asked for are refused")
  func foreignResponsesAreRefused() async throws {
    try await with { http, issuer in
      let (cookie, query) = try await begin(http, issuer)
      let (other, _) = try await begin(http, issuer)
      let state = query["state"] ?? ""
      let invalid = "issuer=SIGN_IN_STATE_INVALID"
      #expect(try await finish(http, cookie: nil, "code=c0de&state=\(state)") == invalid)
      #expect(try await finish(http, cookie: other, "code=c0de&state=\(state)") == invalid)
      #expect(try await finish(http, cookie: cookie, "code=c0de") == invalid)
      #expect(try await finish(http, cookie: cookie, "code=c0de&state=\(state)&state=\(state)") == invalid)
      #expect(try await finish(http, cookie: cookie, "code=%zz&state=\(state)") == invalid)
      #expect(try await finish(http, cookie: "\(cookie)x", "code=c0de&state=\(state)") == invalid)
      let refused = "issuer=ISSUER_REFUSED"
      #expect(try await finish(http, cookie: cookie, "error=access_denied&state=\(state)") == refused)
      #expect(try await finish(http, cookie: nil, "error=access_denied") == refused)
      #expect(try await finish(http, cookie: cookie, "code=c0de&state=\(state)&iss=https://evil.example") == refused)
      // The challenge is that of the second attempt by now.
      #expect(try await finish(http, cookie: cookie, "code=c0de&state=\(state)") == refused)
      #expect(issuer.state.withLock { $0.requests.filter { $0.form != nil }.count } == 1)
      let events = try await http.harness.gateway.sessions.audit.repository.list(
        before: nil, action: .signInFailed, count: 10)
      #expect(events.map(\.method) == [.issuer] && events.map(\.count) == [10])
    }
  }

  @Test(
    "an ID token that does not identify the caller of this sign-in is refused",
    arguments: [
      ["nonce": "another"], ["aud": "another"], ["iss": "https://evil.example"], ["exp": 1], ["sub": ""],
      ["aud": ["con sole", "another"]], ["azp": "another"],
    ] as [[String: any Sendable]])
  func foreignTokensAreRefused(claims: [String: any Sendable]) async throws {
    try await with { http, issuer in
      let (cookie, query) = try await begin(http, issuer, claims: claims)
      let fragment = try await finish(http, cookie: cookie, "code=c0de&state=\(query["state"] ?? "")")
      #expect(fragment == "issuer=ISSUER_TOKEN_INVALID")
    }
  }

  @Test("an issuer that fails, or describes itself wrongly, leads back to the console")
  func failuresLeadBack() async throws {
    func outcome(_ change: (inout Issuer.State) -> Void) async throws -> String {
      var result = ""
      try await with { http, issuer in
        issuer.state.withLock { change(&$0) }
        let answer = try await http.send("GET", "/console/issuer", [:])
        result = String(answer.headers["location"]?.drop { $0 != "#" }.dropFirst() ?? "")
      }
      return result
    }
    let unavailable = "issuer=ISSUER_UNAVAILABLE"
    #expect(try await outcome { _ in } == "")
    #expect(try await outcome { $0.isCutOff = true } == unavailable)
    #expect(try await outcome { $0.metadataStatus = 404 } == unavailable)
    #expect(try await outcome { $0.metadata["issuer"] = "https://evil.example" } == unavailable)
    #expect(try await outcome { $0.metadata["token_endpoint"] = "http://issuer.example/token" } == unavailable)
    #expect(try await outcome { $0.metadata["authorization_endpoint"] = "javascript:1" } == unavailable)
    #expect(try await outcome { $0.metadata["code_challenge_methods_supported"] = ["plain"] } == unavailable)
    try await with { http, issuer in
      let (cookie, query) = try await begin(http, issuer)
      let back = "code=c0de&state=\(query["state"] ?? "")"
      issuer.state.withLock { $0.tokenStatus = 503 }
      #expect(try await finish(http, cookie: cookie, back) == unavailable)
      issuer.state.withLock { ($0.tokenStatus, $0.hasIDToken) = (200, false) }
      #expect(try await finish(http, cookie: cookie, back) == "issuer=ISSUER_TOKEN_INVALID")
    }
  }

  @Test("requests to the issuer are bounded")
  func exchangesAreBounded() async throws {
    final class Waiting: IssuerExchanging {
      let count = Mutex(0)
      func send(_ request: IssuerRequest) async throws -> (status: Int, body: [UInt8]) {
        count.withLock { $0 += 1 }
        try await Task.sleep(for: .seconds(3_600))
        return (200, [])
      }
    }
    let waiting = Waiting()
    let folder = try TemporaryFolder()
    let issuer = try Issuer()
    try Data(issuer.keySet.utf8).write(to: URL(fileURLWithPath: folder.file("keys.json")))
    let harness = try await Harness(backends: []) {
      $0.tokens = TokenPolicy(keySetFile: folder.file("keys.json"), issuer: "https://issuer.example", audiences: ["a"])
      $0.issuerSignIn = IssuerConfiguration(clientID: "c", consoleURL: Self.url)
      $0.issuerExchange = waiting
    }
    let signIn = try #require(harness.gateway.issuerSignIn)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<IssuerSignIn.exchangesMax { group.addTask { _ = try? await signIn.begin() } }
      while waiting.count.withLock({ $0 }) < IssuerSignIn.exchangesMax { await Task.yield() }
      let error = await #expect(throws: RPCError.self) { _ = try await signIn.begin() }
      #expect(error?.code == .resourceExhausted && error?.reason == "ISSUER_BUSY")
      group.cancelAll()
    }
    await harness.stop()
  }

  @Test func pagesNeedGetAndAConfiguration() async throws {
    try await with { http, _ in
      let answer = try await http.send("POST", "/console/issuer", [:])
      #expect(answer.status == 405 && answer.headers["allow"] == "GET")
    }
    try await withHTTP({ _ in }, gateway: { $0.consolePath = "/console" }) { http in
      #expect(try await http.send("GET", "/console/issuer", [:]).status == 404)
      let found = try await http.send("GET", "/console/session", ConsoleHTTPTests.own)
      #expect(found.status == 200 && found.json.isEmpty)
      // Only the console's page learns it.
      #expect(try await http.send("GET", "/console/session", [:]).reason == "ORIGIN_NOT_ALLOWED")
    }
  }

  @Test func formsAreWritten() {
    #expect(FormEncoding.text([("a", "c&d=é+"), ("e", "")]) == "a=c%26d%3D%C3%A9%2B&e=")
    #expect(
      IssuerMetadata.url(issuer: "https://issuer.example/realm/")
        == "https://issuer.example/realm/.well-known/openid-configuration")
  }
}
