import CampanileAPI
import CampanileRPC
import Foundation
import NIOCore
import Testing

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// Admission by request heads: credential, scope and rate are checked before the body.
@Suite struct HTTPHeadTests {
  static let service = "/campanile.rpc.v1.EchoService"
  private static let long = "Content-Length: 999999999\r\n"
  private static let broken = "Content-Length: 3\r\n"

  /// A request line, headers and a body. An authenticated caller gets a different error status for each.
  static let requests: [(name: String, line: String, headers: String, body: String)] = [
    ("Connect, no JSON", "POST \(service)/Echo", HostileHTTPTests.json + broken, "{x}"),
    ("Connect, wrong type", "POST \(service)/Echo", "Content-Type: text/plain\r\n" + broken, "{x}"),
    ("Connect, no type", "POST \(service)/Echo", broken, "{x}"),
    ("Connect, two types", "POST \(service)/Echo", HostileHTTPTests.json + HostileHTTPTests.json + broken, "{x}"),
    ("Connect, too long", "POST \(service)/Echo", HostileHTTPTests.json + long, ""),
    ("Connect, odd coding", "POST \(service)/Echo", HostileHTTPTests.json + "Content-Encoding: br\r\n" + broken, "{x}"),
    ("Connect, no gzip", "POST \(service)/Echo", HostileHTTPTests.json + "Content-Encoding: gzip\r\n" + broken, "{x}"),
    (
      "Connect, version", "POST \(service)/Echo", "Connect-Protocol-Version: 9\r\n" + HostileHTTPTests.json + broken,
      "{x}"
    ),
    ("Connect, time-out", "POST \(service)/Echo", "Connect-Timeout-Ms: x\r\n" + HostileHTTPTests.json + broken, "{x}"),
    ("Connect, odd header", "POST \(service)/Echo", "x!a: b\r\n" + HostileHTTPTests.json + broken, "{x}"),
    ("Connect, reserved", "POST \(service)/Echo", "campanile-x: b\r\n" + HostileHTTPTests.json + broken, "{x}"),
    ("Connect, wrong verb", "PUT \(service)/Echo", "", ""),
    ("Connect, unknown method", "POST \(service)/Nothing", "Content-Type: text/plain\r\n" + broken, "{x}"),
    ("Connect GET, no message", "GET \(service)/Echo", "", ""),
    ("Connect GET, no gzip", "GET \(service)/Echo?encoding=json&base64=1&compression=gzip&message=e30", "", ""),
    ("Connect GET, a body", "GET \(service)/Echo?encoding=json&message=%7B%7D", HostileHTTPTests.json + broken, "{x}"),
    ("Connect stream, too long", "POST \(service)/Collect", HostileHTTPTests.json + long, ""),
    ("REST, no JSON", "POST /v1/echo", HostileHTTPTests.json + broken, "{x}"),
    ("REST, wrong type", "POST /v1/echo", "Content-Type: text/plain\r\n" + broken, "{x}"),
    ("REST, too long", "POST /v1/echo", HostileHTTPTests.json + long, ""),
    ("REST, a query", "POST /v1/echo?payload=a", HostileHTTPTests.json + broken, "{x}"),
    ("REST, a body", "GET /v1/echo/a", HostileHTTPTests.json + broken, "{x}"),
    ("REST, unknown field", "GET /v1/echo/a?nothing=1", "", ""),
    ("REST, a condition", "GET /v1/echo/a", "If-Match: x\r\n", ""),
    ("REST, waits", "POST /v1/echo", HostileHTTPTests.json + long + "Expect: 100-continue\r\n", ""),
    ("events, unknown field", "GET /v1/echo:expand?nothing=1", "Accept: text/event-stream\r\n", ""),
    ("Kilwinning, wrong type", "POST /api/presenze", "Content-Type: text/plain\r\n" + broken, "{x}"),
    ("Kilwinning, no JSON", "PUT /api/fratelli/1", HostileHTTPTests.json + broken, "{x}"),
    ("Kilwinning, too long", "POST /api/admin/tornate", HostileHTTPTests.json + long, ""),
    ("Kilwinning, a query", "GET /api/tornate?anno=x", "", ""),
    ("Zentik, no JSON", "POST /api/v1/messages", HostileHTTPTests.json + broken, "{x}"),
    ("Zentik, wrong type", "POST /api/v1/messages", "Content-Type: text/plain\r\n" + broken, "{x}"),
    ("Zentik, no code", "POST /api/v1/messages", HostileHTTPTests.json + "Content-Length: 2\r\n", "{}"),
    ("Zentik, ids", "PATCH /api/v1/notifications/batch/read", HostileHTTPTests.json + broken, "{x}"),
    ("Zentik, too long", "POST /api/v1/notifications/postpone", HostileHTTPTests.json + long, ""),
    ("Firebase, no JSON", "POST /updateLiveActivity", HostileHTTPTests.json + broken, "{x}"),
    ("Firebase, wrong type", "POST /p/r/updateLiveActivity", "Content-Type: text/plain\r\n" + broken, "{x}"),
    (
      "Firebase, a stream", "POST /updateLiveActivity",
      "Accept: text/event-stream\r\n" + HostileHTTPTests.json + broken, "{x}"
    ),
    ("Firebase, too long", "POST /registerPushToStartToken", HostileHTTPTests.json + long, ""),
  ]

  static func withDialects(
    gateway: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (HTTPHarness) async throws -> Void
  ) async throws {
    try await withHTTP(
      { _ in }, gateway: gateway,
      dialects: {
        $0.enabled = Set(Dialect.allCases)
        $0.firebase.app = "app"
        $0.areCookiesSecure = false
      }, body)
  }

  @Test func credentialErrorsAreReportedFirst() async throws {
    try await Self.withDialects { http in
      for request in Self.requests {
        for (credential, isMissing) in [("", true), ("Authorization: Bearer cmp_wrong\r\n", false)] {
          let wire = try await HTTPWire(port: http.port)
          try await wire.send(
            "\(request.line) HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\(credential)\(request.headers)\r\n\(request.body)"
          )
          let answer = HTTPWire.parse(try await wire.read { $0.contains("}") })
          #expect(answer.status == 401, "\(request.name), \(isMissing): \(answer)")
          let challenge = isMissing ? "Bearer" : "Bearer error=\"invalid_token\""
          #expect(answer.headers["www-authenticate"] == challenge, "\(request.name), \(isMissing)")
          await wire.close()
        }
      }
      #expect(http.backend.seen.all.isEmpty)
    }
  }

  /// With a credential, the same requests get their other errors.
  @Test func otherErrorsAreReportedToAuthenticatedCallers() async throws {
    try await withHTTP { http in
      for request in Self.requests.prefix(while: { !$0.name.hasPrefix("Kilwinning") }) {
        let wire = try await HTTPWire(port: http.port)
        try await wire.send(
          "\(request.line) HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer \(http.secret)\r\n"
            + "\(request.headers)\r\n\(request.body)")
        let status = HTTPWire.parse(try await wire.read { $0.contains("}") }).status
        #expect([400, 405, 413, 415, 429, 501].contains(status), "\(request.name): \(status)")
        await wire.close()
      }
      #expect(http.backend.seen.all.isEmpty)
    }
  }

  @Test func scopeIsCheckedBeforeTheBody() async throws {
    try await withHTTP { http in
      let key = try await http.harness.key("user/reader", scopes: ["echo:read"])
      let answer = try await HTTPWire.exchange(
        port: http.port,
        raw:
          "POST /v1/fail HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(key.secret)\r\n\(HostileHTTPTests.json)\(Self.long)\r\n"
      )
      #expect(answer.status == 403 && answer.reason == "SCOPE_MISSING", "\(answer)")
    }
  }

  // MARK: counting

  /// Returns the number of tokens that `body` takes at a rate of one per second. Each token delays the time at which
  /// the bucket is full by a second.
  static func tokens(_ bucket: SharedBucket?, _ body: () async throws -> Void) async throws -> Int64 {
    let bucket = try #require(bucket)
    let nowNs = MonotonicClock.nowNs()
    // A full bucket would also count the time that `body` takes.
    for _ in 0..<100 { _ = bucket.take(nowNs: nowNs) }
    let before = try #require(bucket.status(nowNs: nowNs)).reset
    try await body()
    return (try #require(bucket.status(nowNs: nowNs)).reset - before).components.seconds
  }

  @Test func eachRequestCountsOnceAgainstItsAddress() async throws {
    try await Self.withDialects(
      gateway: {
        $0.limits.addressRate = RateLimit(perSecond: 1, burst: 10_000)
        $0.limits.anonymousRate = RateLimit(perSecond: 1, burst: 10_000)
        $0.limits.principalRate = RateLimit(perSecond: 1, burst: 10_000)
      }
    ) { http in
      let share = http.harness.gateway.admission.addresses.share(of: "127.0.0.1", nowNs: 0)
      let principal = http.harness.gateway.keys.ring.shares.share(of: "user/ada", nowNs: 0)
      // Ensure that all buckets have tokens to refill.
      _ = try await http.get("/v1/echo/a")
      _ = try await HTTPWire.exchange(port: http.port, "GET", "/v1/echo/a")
      let plain: [(String, String)] = [
        ("GET", "/nothing"), ("GET", "/v1/nothing"), ("OPTIONS", "/v1/echo"), ("GET", "/healthz"), ("GET", "/readyz"),
        ("GET", "/openapi.json"), ("DELETE", "/v1/echo"), ("GET", "/api/nothing"), ("GET", "/api/v1/messages"),
        ("GET", "/%zz"), ("GET", "/updateLiveActivity"),
      ]
      for (verb, path) in plain {
        let count = try await Self.tokens(share.rate) {
          _ = try await HTTPWire.exchange(port: http.port, verb, path)
        }
        #expect(count == 1, "\(verb) \(path)")
      }
      for raw in ["hello\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"] {
        let count = try await Self.tokens(share.rate) { _ = try await HTTPWire.exchange(port: http.port, raw: raw) }
        #expect(count == 1, "\(raw)")
      }
      for request in Self.requests {
        let count = try await Self.tokens(share.rate) {
          let wire = try await HTTPWire(port: http.port)
          try await wire.send(
            "\(request.line) HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\(request.headers)\r\n\(request.body)")
          _ = try await wire.read { $0.contains("}") }
          await wire.close()
        }
        #expect(count == 1, "\(request.name)")
      }
      // A successful call also counts once: against its address and against its principal.
      for path in ["/v1/echo/a", Self.service + "/Echo?encoding=json&message=%7B%7D", "/v1/echo:expand?count=3"] {
        let count = try await Self.tokens(share.rate) {
          let own = try await Self.tokens(principal.rate) {
            let answer = try await http.get(path)
            #expect(answer.status == 200, "\(path)")
          }
          #expect(own == 1, "\(path)")
        }
        #expect(count == 1, "\(path)")
      }
      // A dialect request that the gateway serves with its own call counts as unauthenticated.
      let strangers = try await Self.tokens(share.anonymous) {
        _ = try await HTTPWire.exchange(port: http.port, "GET", "/api/fratelli")
      }
      #expect(strangers == 1)
    }
  }

  @Test func anonymousDialectRequestsHaveTheAnonymousRate() async throws {
    try await Self.withDialects(gateway: { $0.limits.anonymousRate = RateLimit(perSecond: 1, burst: 5) }) { http in
      let code = #"{"bucketId":"cpk_\#(String(repeating: "A", count: 43))","deliveryType":"NORMAL","title":"x"}"#
      var statuses: Set<Int> = []
      for _ in 0..<20 {
        statuses.insert(try await HTTPWire.exchange(port: http.port, "GET", "/api/fratelli").status)
        let published = try await HTTPWire.exchange(
          port: http.port, "POST", "/api/v1/messages", ["Content-Type": "application/json"], body: code)
        statuses.insert(published.status)
      }
      // No service is running, so requests within the rate get 501.
      #expect(statuses == [501, 429])
    }
  }

  // MARK: ends of connections

  @Test(arguments: ["GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n", "x", "\u{0}\u{1}", "0\r\n\r\n"])
  func bytesBehindTheLastRequestAreIgnored(behind: String) async throws {
    try await withHTTP { http in
      let body = #"{"payload":"p"}"#
      let answer = try await HTTPWire.exchange(
        port: http.port,
        raw: "POST /v1/echo HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer \(http.secret)\r\n"
          + "\(HostileHTTPTests.json)Content-Length: \(body.utf8.count)\r\n\r\n\(body)\(behind)")
      #expect(answer.status == 200 && answer.json["payload"] as? String == "p", "\(answer)")
      #expect(http.backend.seen.all.count == 1)
    }
  }

  @Test(arguments: [200_000, 1])
  func ambiguousRequestEndClosesTheConnection(burst: Int) async throws {
    // The connection also closes if the rate limit refuses the request.
    try await withHTTP(
      { _ in }, gateway: { $0.limits.addressRate = RateLimit(perSecond: 1, burst: burst) }
    ) { http in
      for request in HostileHTTPTests.requests
      where request.reason == "TRANSFER_ENCODING_UNSUPPORTED" || request.name == "chunks in HTTP/1.0" {
        let raw = request.raw.replacing("KEY", with: "Authorization: Bearer \(http.secret)\r\n")
        let wire = try await HTTPWire(port: http.port)
        try? await wire.send(raw + "GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n")
        let text = try await wire.read()
        #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2, "\(request.name): \(text)")
        await wire.close()
      }
    }
  }
}
