import CampanileAPI
import CampanileBase
import CampanileRPC
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// The console over HTTP, from the sign-in to calls with the cookie.
@Suite struct ConsoleHTTPTests {
  /// The page's own headers.
  static let own = ["x-campanile-console": "1", "Sec-Fetch-Site": "same-origin"]

  private func with(
    _ configure: (inout HTTPConfiguration) -> Void = { _ in }, _ body: (HTTPHarness) async throws -> Void
  ) async throws {
    try await withHTTP(configure, gateway: { $0.consolePath = "/console" }, body)
  }

  private func signIn(
    _ http: HTTPHarness, _ body: String? = nil
  ) async throws -> (answer: HTTPWire.Answer, cookie: String) {
    let answer = try await http.send(
      "POST", "/console/session", Self.own.merging(["Content-Type": "application/json"]) { $1 },
      body: body ?? #"{"apiKey":"\#(http.secret)"}"#)
    let cookie = answer.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? ""
    return (answer, cookie)
  }

  @Test func cookieSignsCallsOfThePageOnly() async throws {
    try await with { http in
      let (answer, cookie) = try await signIn(http)
      #expect(answer.status == 200)
      let header = try #require(answer.headers["set-cookie"])
      #expect(header.hasSuffix("; Path=/; Max-Age=86400; HttpOnly; SameSite=Strict"))
      let own = Self.own.merging(["Cookie": cookie]) { $1 }
      let json = own.merging(["Content-Type": "application/json"]) { $1 }
      // REST, Connect, and streams.
      #expect(try await http.send("GET", "/v1/echo/a", own).status == 200)
      #expect(try await http.send("POST", "/campanile.rpc.v1.EchoService/Echo", json, body: "{}").status == 200)
      let events = try await http.send(
        "GET", "/v1/echo:expand?count=1", own.merging(["Accept": "text/event-stream"]) { $1 })
      #expect(events.status == 200)
      #expect(http.backend.seen.last?.principal?.name == "user/ada")
      #expect(http.backend.seen.last?.metadata.entries.contains { $0.key.contains("console") } == false)
      // Everybody else's requests with the same cookie.
      let foreign: [[String: String]] = [
        ["Cookie": cookie], own.merging(["Sec-Fetch-Site": "cross-site"]) { $1 },
        own.merging(["Origin": "https://evil.example"]) { $1 },
        own.merging(["Content-Type": "text/plain"]) { $1 }, own.merging(["Cookie": cookie + "x"]) { $1 },
      ]
      for headers in foreign {
        #expect(try await http.send("GET", "/v1/echo/a", headers).reason == "CREDENTIAL_MISSING", "\(headers)")
      }
      // An explicit credential wins, also a wrong one.
      let wrong = own.merging(["Authorization": "Bearer cmp_x"]) { $1 }
      #expect(try await http.send("GET", "/v1/echo/a", wrong).reason == "CREDENTIAL_INVALID")
      // Its value is no key.
      let value = cookie.dropFirst("campanile_console=".count)
      let bearer = ["Authorization": "Bearer \(value)"]
      #expect(try await http.send("GET", "/v1/echo/a", bearer).reason == "CREDENTIAL_INVALID")
    }
  }

  @Test("signing out, a revocation, and the end of the key end the session and its streams")
  func sessionsEnd() async throws {
    try await with { http in
      func caller(_ cookie: String) async throws -> HTTPWire.Answer {
        try await http.send("GET", "/gateway/v1/caller", Self.own.merging(["Cookie": cookie]) { $1 })
      }
      let first = try await signIn(http).cookie
      #expect(try await caller(first).status == 200)
      let out = try await http.send("DELETE", "/console/session", Self.own.merging(["Cookie": first]) { $1 })
      #expect(out.status == 200 && out.headers["set-cookie"]?.contains("Max-Age=0") == true)
      #expect(try await caller(first).status == 401)
      // Repeating it, or having no session, is not an error.
      #expect(try await http.send("DELETE", "/console/session", Self.own).status == 200)

      let second = try await signIn(http).cookie
      let view = try #require(try await caller(second).json["caller"] as? [String: Any])
      let id = try #require(view["sessionId"] as? String)
      #expect(view["principal"] as? String == "user/ada")
      #expect(view["kind"] as? String == "CREDENTIAL_KIND_CONSOLE_SESSION")
      let other = try await http.harness.key("user/bob").secret
      func revoke(_ secret: String) async throws -> HTTPWire.Answer {
        try await HTTPWire.exchange(
          port: http.port, "POST", "/gateway/v1/consoleSessions/\(id):revoke",
          ["Authorization": "Bearer \(secret)", "Content-Type": "application/json"], body: "{}")
      }
      #expect(try await revoke(other).reason == "SESSION_NOT_FOUND")
      #expect(try await caller(second).status == 200)
      #expect(try await revoke(http.secret).status == 200)
      #expect(try await caller(second).status == 401)
      #expect(try await revoke(http.secret).reason == "SESSION_NOT_FOUND")

      let third = try await signIn(http).cookie
      let stream = try await HTTPWire(port: http.port)
      try await stream.send(
        "POST /campanile.gateway.v1.WatchService/WatchMany HTTP/1.1\r\nHost: gateway\r\nx-campanile-console: 1\r\n"
          + "Sec-Fetch-Site: same-origin\r\nCookie: \(third)\r\nAccept: text/event-stream\r\n"
          + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
      _ = try await stream.read { $0.contains("streamId") }
      let key = try #require(try await caller(third).json["caller"] as? [String: Any])["keyId"] as? String
      _ = try await http.harness.admin().revokeApiKey(.init(keyId: key ?? ""))
      #expect(try await stream.read { $0.contains("CREDENTIAL_REVOKED") }.contains("CREDENTIAL_REVOKED"))
      await stream.close()
      #expect(try await caller(third).status == 401)
    }
  }

  @Test("a link signs in once, with the rights of the key that made it")
  func linksSignIn() async throws {
    try await with { http in
      let made = try await http.post("/gateway/v1/signInLinks", "{}")
      let token = try #require(made.json["token"] as? String)
      #expect(made.json["path"] as? String == "/console/#link=\(token)")
      let (answer, cookie) = try await signIn(http, #"{"link":"\#(token)"}"#)
      #expect(answer.status == 200)
      let own = Self.own.merging(["Cookie": cookie, "Content-Type": "application/json"]) { $1 }
      #expect(try await http.send("GET", "/v1/echo/a", Self.own.merging(["Cookie": cookie]) { $1 }).status == 200)
      #expect(try await signIn(http, #"{"link":"\#(token)"}"#).answer.reason == "LINK_INVALID")
      // A session makes links, too: of its key.
      #expect(try await http.send("POST", "/gateway/v1/signInLinks", own, body: "{}").status == 200)
      let listed = try await http.get("/gateway/v1/consoleSessions")
      #expect((listed.json["sessions"] as? [[String: Any]])?.first?["method"] as? String == "SIGN_IN_METHOD_LINK")
    }
  }

  @Test("only the page signs in, with a readable body and a valid credential")
  func signInsAreChecked() async throws {
    try await with { http in
      let body = #"{"apiKey":"\#(http.secret)"}"#
      let json = ["Content-Type": "application/json"]
      let foreign: [[String: String]] = [
        json, json.merging(["x-campanile-console": "1"]) { $1 },
        Self.own.merging(json) { $1 }.merging(["Sec-Fetch-Site": "cross-site"]) { $1 },
        Self.own.merging(json) { $1 }.merging(["Origin": "https://evil.example"]) { $1 },
        Self.own.merging(["Content-Type": "application/x-www-form-urlencoded"]) { $1 }, Self.own,
      ]
      for headers in foreign {
        let answer = try await http.send("POST", "/console/session", headers, body: body)
        #expect(answer.status == 403 && answer.reason == "ORIGIN_NOT_ALLOWED", "\(headers)")
        #expect(answer.headers["set-cookie"] == nil)
      }
      #expect(try await http.send("DELETE", "/console/session", ["Sec-Fetch-Site": "cross-site"]).status == 403)
      for (text, reason) in [
        (#"{"apiKey":"cmp_wrong"}"#, "CREDENTIAL_INVALID"), (#"{"link":"csl_x"}"#, "LINK_INVALID"),
        ("{", "BODY_NOT_JSON"), ("{}", "FIELD_INVALID"),
      ] {
        let answer = try await signIn(http, text).answer
        #expect(answer.reason == reason && answer.headers["set-cookie"] == nil, "\(text): \(answer)")
      }
      let method = try await http.send("PUT", "/console/session", Self.own)
      #expect(method.status == 501 || method.status == 405)
      #expect(method.headers["allow"] == "GET, POST, DELETE")
    }
  }

  @Test("every response of the console has its policies, and none those of CORS")
  func responsesHavePolicies() async throws {
    try await with({ $0.crossOrigin.origins = ["*"] }) { http in
      let page = try await http.send("GET", "/console/", [:])
      let script = try #require(page.body.firstMatch(of: /src="([0-9a-f]{16}\/web\/[a-z.]+)"/)?.1)
      let requests: [(String, String, Int)] = [
        ("GET", "/console", 308), ("GET", "/console/", 200), ("HEAD", "/console/", 200), ("POST", "/console/", 405),
        ("GET", "/console/\(script)", 200), ("GET", "/console/0123456789abcdef/web/app.js", 404),
        ("GET", "/console/session", 403), ("POST", "/console/session", 403), ("GET", "/console/%2e%2e/x", 400),
        ("OPTIONS", "/console/session", 204),
      ]
      for (method, target, status) in requests {
        let answer = try await http.send(method, target, ["Origin": "https://app.example"])
        #expect(answer.status == status, "\(method) \(target): \(answer.status)")
        for (name, value) in ConsoleFrontend.headers {
          #expect(answer.headers[name.lowercased()] == value, "\(method) \(target): \(name)")
        }
        #expect(answer.headers["x-content-type-options"] == "nosniff")
        #expect(answer.headers["access-control-allow-origin"] == nil, "\(method) \(target)")
      }
      // Calls by the cookie have none either; other calls do.
      let cookie = try await signIn(http).cookie
      let own = Self.own.merging(["Cookie": cookie, "Origin": "http://gateway"]) { $1 }
      #expect(try await http.send("GET", "/v1/echo/a", own).headers["access-control-allow-origin"] == nil)
      let other = try await http.get("/v1/echo/a", ["Origin": "http://gateway"])
      #expect(other.headers["access-control-allow-origin"] == "*")
      let csp = try #require(page.headers["content-security-policy"])
      #expect(!csp.contains("unsafe") && csp.contains("frame-ancestors 'none'"))
    }
  }

  @Test func filesAreCachedByTheirHash() async throws {
    try await with { http in
      let page = try await http.send("GET", "/console/", [:])
      #expect(page.headers["cache-control"] == "no-cache")
      let etag = try #require(page.headers["etag"])
      #expect(try await http.send("GET", "/console/", ["If-None-Match": etag]).status == 304)
      let script = try #require(page.body.firstMatch(of: /src="([0-9a-f]{16}\/web\/[a-z.]+)"/)?.1)
      let file = try await http.send("GET", "/console/\(script)", ["Accept-Encoding": "gzip"])
      #expect(file.headers["cache-control"] == "public, max-age=31536000, immutable")
      #expect(file.headers["content-encoding"] == "gzip" && file.headers["vary"] == "Accept-Encoding")
      let hash = script.prefix(16)
      #expect(try await http.send("GET", "/console/\(hash)/sdk/campanile.js", [:]).status == 200)
      #expect(try await http.send("GET", "/console/\(hash)/sdk/campanile.d.ts", [:]).status == 404)
    }
  }

  @Test("without the console there are no pages, no sign-in and no links")
  func consoleCanBeOff() async throws {
    try await withHTTP { http in
      let page = try await http.send("GET", "/console", [:])
      #expect(page.status == 404)
      #expect(try await signIn(http).answer.status == 404)
      #expect(try await http.post("/gateway/v1/signInLinks", "{}").reason == "CONSOLE_DISABLED")
    }
  }

  @Test("a rebinding host gets nothing")
  func otherHostsGetNothing() async throws {
    try await with({ $0.hostGuard = HostGuard(names: ["gateway"]) }) { http in
      let (answer, cookie) = try await signIn(http)
      #expect(answer.status == 200)
      for target in ["/console/", "/console/session", "/v1/echo/a"] {
        let refused = try await HTTPWire.exchange(
          port: http.port,
          raw: "GET \(target) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nx-campanile-console: 1\r\n"
            + "Sec-Fetch-Site: same-origin\r\nCookie: \(cookie)\r\n\r\n")
        #expect(refused.status == 403 && refused.reason == "HOST_NOT_ALLOWED", "\(target)")
      }
    }
  }

  @Test("any caller learns who it is and which services there are")
  func callersLearnWhoTheyAre() async throws {
    try await with { http in
      let key = try await http.get("/gateway/v1/caller")
      let caller = try #require(key.json["caller"] as? [String: Any])
      #expect(caller["principal"] as? String == "user/ada" && caller["kind"] as? String == "CREDENTIAL_KIND_API_KEY")
      #expect((key.json["services"] as? [[String: Any]])?.first?["name"] as? String == "echo")
      #expect(try await http.send("GET", "/gateway/v1/caller", [:]).status == 401)
      let operated = try await http.harness.admin().getCaller(.init()).caller
      #expect(operated?.kind == .internal && operated?.principal == "service/operator" && operated?.scopes == ["admin"])
    }
  }

  @Test("changes of keys are in the audit log, which only admins read, in pages")
  func keysAreAudited() async throws {
    try await with { http in
      let admin = try await http.harness.key("service/root", scopes: ["admin"]).secret
      let made = try #require(try await http.harness.key("user/eve").apiKey)
      _ = try await http.harness.admin().rotateApiKey(.init(keyId: made.id))
      _ = try await http.harness.admin().revokeApiKey(.init(keyId: made.id))
      let client = ConsoleServiceClient(try http.harness.client(token: admin))
      var request = ListAuditEventsRequest(pageSize: 2)
      let page = try await client.listAuditEvents(request)
      #expect(page.events.map(\.action) == [.keyRevoked, .keyRotated])
      #expect(page.events.allSatisfy { $0.subject == made.id && $0.principal == "service/operator" })
      request.pageToken = page.nextPageToken
      #expect(try await client.listAuditEvents(request).events.first?.action == .keyCreated)
      request.action = .signedIn
      _ = await expectFailure(.invalidArgument, "PAGE_TOKEN_INVALID") { try await client.listAuditEvents(request) }
      #expect(try await http.get("/gateway/v1/auditEvents").reason == "SCOPE_MISSING")
      #expect(try await http.get("/gateway/v1/consoleSessions?allPrincipals=true").reason == "SCOPE_MISSING")
    }
  }
}

extension HTTPHarness {
  /// Sends a request without the harness's key.
  func send(
    _ method: String, _ target: String, _ headers: [String: String], body: String? = nil
  ) async throws -> HTTPWire.Answer {
    try await HTTPWire.exchange(port: port, method, target, headers, body: body)
  }
}
