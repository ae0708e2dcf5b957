import CampanileBase
import CampanileRPC
import NIOHTTP1
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// The conditions under which the console's cookie is a credential.
@Suite struct ConsoleCookieTests {
  private static let value = "ccs_" + String(repeating: "a", count: 43)
  private static let own: [(String, String)] = [
    ("Host", "127.0.0.1:7480"), ("Cookie", "campanile_console=\(value)"), ("x-campanile-console", "1"),
    ("Sec-Fetch-Site", "same-origin"),
  ]

  private func head(
    _ method: NIOHTTP1.HTTPMethod = .POST, _ changes: [(String, String?)] = [], uri: String = "/v1/echo"
  ) -> HTTPRequestHead {
    var headers = HTTPHeaders(Self.own)
    for (name, value) in changes {
      if let value { headers.replaceOrAdd(name: name, value: value) } else { headers.remove(name: name) }
    }
    return HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: headers)
  }

  private let plain = ConsoleCookie(isEncrypted: false, hostGuard: HostGuard())
  private let encrypted = ConsoleCookie(isEncrypted: true, hostGuard: nil)

  @Test("the console's own requests have its cookie as their credential")
  func ownRequestsCount() {
    let json: (String, String?) = ("Content-Type", "application/json; charset=utf-8")
    for request in [
      head(), head(.GET), head(.DELETE), head(.POST, [json, ("Content-Length", "2")]),
      head(.POST, [("Content-Type", "application/connect+json"), ("Transfer-Encoding", "chunked")]),
      head(.PUT, [("Content-Type", "application/octet-stream"), ("Content-Length", "9")]),
      head(.POST, [("Sec-Fetch-Site", nil), ("Origin", "http://127.0.0.1:7480")]),
      head(.POST, [("Origin", "http://127.0.0.1:7480")]),
      head(.POST, [("Origin", "HTTP://127.0.0.1:7480")]),
      head(.POST, [("Host", "LOCALHOST:7480"), ("Origin", "http://localhost:7480")]),
      // A proxy in front of the gateway ends TLS.
      head(.POST, [("Host", "127.0.0.1"), ("Origin", "https://127.0.0.1")]),
      head(.POST, [("Cookie", "a=b; campanile_console=\(Self.value) ; c=d")]),
    ] {
      #expect(plain.credential(of: request) == Self.value, "\(request)")
    }
  }

  @Test(
    "requests that another page may have caused have no credential",
    arguments: [
      ("cross-site", [("Sec-Fetch-Site", "cross-site")]), ("same-site", [("Sec-Fetch-Site", "same-site")]),
      ("typed into the address bar", [("Sec-Fetch-Site", "none")]),
      ("other spelling", [("Sec-Fetch-Site", "Same-Origin")]), ("no evidence", [("Sec-Fetch-Site", nil)]),
      ("foreign origin", [("Origin", "https://evil.example")]),
      ("origin of another port", [("Origin", "http://127.0.0.1:8080")]), ("opaque origin", [("Origin", "null")]),
      ("foreign origin without fetch metadata", [("Sec-Fetch-Site", nil), ("Origin", "https://evil.example")]),
      ("other scheme", [("Sec-Fetch-Site", nil), ("Origin", "ftp://127.0.0.1:7480")]),
      ("origin with a path", [("Origin", "http://127.0.0.1:7480/")]),
      ("missing header", [("x-campanile-console", nil)]), ("other header value", [("x-campanile-console", "0")]),
      ("form", [("Content-Type", "application/x-www-form-urlencoded")]),
      ("upload form", [("Content-Type", "multipart/form-data; boundary=a")]),
      ("text form", [("Content-Type", "text/plain")]),
      ("a form that mentions JSON", [("Content-Type", "text/plain; application/json")]),
      ("body without a type", [("Content-Length", "2")]),
      ("chunked body without a type", [("Transfer-Encoding", "chunked")]),
      ("bytes by POST", [("Content-Type", "application/octet-stream")]),
      ("rebinding host", [("Host", "evil.example:7480")]),
      ("rebinding host and origin", [("Host", "evil.example"), ("Origin", "http://evil.example")]),
      ("no host", [("Host", nil)]), ("authorization", [("Authorization", "Bearer cmp_x")]),
      ("member's session", [("attendance-session", "cas_x")]), ("no cookie", [("Cookie", nil)]),
      ("other cookie", [("Cookie", "kilwinning_session=x")]),
      ("two cookies", [("Cookie", "campanile_console=a; campanile_console=b")]),
      ("cookie of TLS", [("Cookie", "__Host-campanile_console=\(Self.value)")]),
      ("long cookie", [("Cookie", "campanile_console=" + String(repeating: "a", count: 65))]),
    ] as [(String, [(String, String?)])])
  func foreignRequestsDoNotCount(_ name: String, _ changes: [(String, String?)]) {
    #expect(plain.credential(of: head(.POST, changes)) == nil)
  }

  @Test func headersGivenTwiceDoNotCount() {
    for name in ["x-campanile-console", "Sec-Fetch-Site", "Host", "Content-Type"] {
      var request = head(.POST, [("Content-Type", "application/json")])
      request.headers.add(name: name, value: request.headers.first(name: name) ?? "")
      #expect(plain.credential(of: request) == nil, "\(name)")
    }
    var request = head(.POST, [("Origin", "http://127.0.0.1:7480")])
    request.headers.add(name: "Origin", value: "http://127.0.0.1:7480")
    #expect(plain.credential(of: request) == nil)
    request = head()
    request.headers.add(name: "Cookie", value: "campanile_console=b")
    #expect(plain.credential(of: request) == nil)
  }

  @Test func tokenInTheQueryPrecludesTheCookie() {
    #expect(plain.credential(of: head(.GET, uri: "/v1/echo:expand?access_token=cmp_x")) == nil)
  }

  @Test("with TLS the cookie has a protected name, and the page's scheme must be https")
  func encryptedPortsHaveTheirOwnCookie() {
    let cookie: (String, String?) = ("Cookie", "__Host-campanile_console=\(Self.value)")
    #expect(encrypted.credential(of: head(.POST, [cookie])) == Self.value)
    #expect(encrypted.credential(of: head(.POST, [cookie, ("Origin", "https://127.0.0.1:7480")])) == Self.value)
    #expect(encrypted.credential(of: head(.POST, [cookie, ("Origin", "http://127.0.0.1:7480")])) == nil)
    #expect(encrypted.credential(of: head()) == nil)
    #expect(
      encrypted.format.header("v", maxAgeS: 5).value
        == "__Host-campanile_console=v; Path=/; Max-Age=5; HttpOnly; SameSite=Strict; Secure")
    #expect(
      plain.format.header("v", maxAgeS: -1).value == "campanile_console=v; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
    )
  }

  @Test func signInBodiesHaveExactlyOneWay() throws {
    func read(_ text: String) throws -> ConsoleSignInRequest { try ConsoleSignInRequest(Array(text.utf8)) }
    #expect(try read(#"{"link":"csl_x"}"#) == .link("csl_x"))
    #expect(try read(#"{"apiKey":"cmp_x"}"#) == .apiKey("cmp_x"))
    #expect(try read(#"{"lodge":{"name":"Anna","pin":"1"}}"#) == .lodge(name: "Anna", pin: "1"))
    for text in [
      "", "{}", "[]", "1", #"{"link":1}"#, #"{"link":"a","apiKey":"b"}"#, #"{"link":"a","link":"b"}"#,
      #"{"lodge":"x"}"#,
      #"{"lodge":{"name":"Anna"}}"#, #"{"lodge":{"name":"Anna","pin":1}}"#,
      #"{"lodge":{"name":"a","name":"b","pin":""}}"#,
      #"{"lodge":{"name":"a","pin":"b","more":"c"}}"#, #"{"password":"x"}"#, #"{"apiKey":null}"#,
    ] {
      #expect(throws: RPCError.self, "\(text)") { try read(text) }
    }
  }

  @Test func pageLinksLeadIntoTheHashedFolder() {
    let page = ConsoleFiles.page(
      #"<link href="styles.css"><link href="./a/b.css"><script src="app.js"></script><link href="../sdk/c.js">"#
        + ##"<a href="https://x.example/"></a><a href="/y"></a><a href="#z"></a>"##, folder: "h1/web/")
    #expect(
      page == #"<link href="h1/web/styles.css"><link href="h1/web/a/b.css"><script src="h1/web/app.js"></script>"#
        + ##"<link href="h1/sdk/c.js"><a href="https://x.example/"></a><a href="/y"></a><a href="#z"></a>"##)
  }

  @Test func consoleOwnsItsPathsOnly() throws {
    let path = "/console"
    for (uri, isOwn) in [
      ("/console", true), ("/console/", true), ("/console?x", true), ("/console/a/b", true), ("/consoles", false),
      ("/v1/console/", false), ("/", false),
    ] {
      #expect(ConsoleFrontend.owns(uri: uri, path: path) == isOwn, "\(uri)")
    }
  }
}
