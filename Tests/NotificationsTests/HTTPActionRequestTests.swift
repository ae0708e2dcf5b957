import CampanileAPI
import CampanileCodec
import Testing

@testable import Notifications

@Suite struct HTTPActionRequestTests {
  private var notification: Notification {
    Notification(id: "n_1", title: "Title")
  }

  private func webhook(_ method: Webhook.Method = .unspecified, body: String = "", headers: [String: String] = [:])
    -> Webhook
  {
    Webhook(method: method, url: "https://example.org/hook", headers: headers, body: body)
  }

  private func call(_ value: String, _ type: ActionType = .backgroundCall) -> HTTPActionRequest? {
    let action = Action(type: type, value: value)
    return HTTPActionRequest(backgroundCall: action, notification: notification)
  }

  @Test func webhookSendsItsBodyOrTheNotification() throws {
    let empty = HTTPActionRequest(webhook: webhook(), notification: notification)
    #expect(empty.method == "POST" && empty.contentType == "application/json")
    #expect(try Notification(jsonUTF8: empty.body) == notification)
    #expect(HTTPActionRequest(webhook: webhook(.get), notification: notification).body.isEmpty)
    #expect(HTTPActionRequest(webhook: webhook(.delete, body: "x"), notification: notification).body.isEmpty)
    let text = HTTPActionRequest(webhook: webhook(.put, body: "hello"), notification: notification)
    #expect(text.body == Array("hello".utf8) && text.contentType == "text/plain; charset=utf-8")
    let json = HTTPActionRequest(webhook: webhook(.patch, body: " \n{\"a\":1}"), notification: notification)
    #expect(json.contentType == "application/json")
  }

  @Test func backgroundCallIsMethodAndURL() {
    let made = call("PUT::https://example.org/a::b?c")
    #expect(made?.method == "PUT" && made?.url == "https://example.org/a::b?c")
    #expect(made?.body == [] && made?.headers == ["x-notification-id": "n_1"])
    for value in [
      "", "GET", "GET::", "::https://x.org", "get::https://x.org", "TRACE::https://x.org", "GET::file:///etc",
    ] {
      #expect(call(value) == nil, "\(value)")
    }
    #expect(call("GET::https://example.org", .navigate) == nil)
  }

  @Test(arguments: [
    ("http://Example.ORG", "http://example.org:80/"), ("https://example.org:8443/a b", nil),
    ("https://example.org/a?b=c#d", "https://example.org:443/a?b=c"), ("http://[::1]:81/x", "http://[::1]:81/x"),
    ("http://user:pw@example.org/", "http://example.org:80/"), ("http://127.1/", "http://127.1:80/"),
    ("http://0x7f.1/", "http://0x7f.1:80/"), ("ftp://example.org", nil), ("http://exa%6dple.org%00/", nil),
    ("http://a@b@example.org/", "http://example.org:80/"), ("http://example.org:0/", nil), ("http:///x", nil),
    ("", nil),
    ("http://[fe80::1%25eth0]/", nil), ("https://example.org/%E6%97%A5", "https://example.org:443/%E6%97%A5"),
  ])
  func targetsAreParsedUnambiguously(_ url: String, _ expected: String?) {
    #expect(HTTPActionTarget(url)?.text == expected)
  }

  @Test func namesInOtherScriptsBecomeASCII() {
    #expect(HTTPActionTarget("https://bücher.example/")?.host == "xn--bcher-kva.example")
  }

  @Test func redirectChangesRequest() throws {
    var request = HTTPActionRequest(
      webhook: webhook(.put, body: "x", headers: ["Authorization": "a", "X-B": "b"]), notification: notification)
    request.idempotencyKey = "r_1"
    let hop = try #require(HTTPActionHop(request))
    #expect(hop.headers["idempotency-key"] == "r_1" && hop.headers["content-type"] == "text/plain; charset=utf-8")
    guard case .follow(let same) = hop.next(status: 307, location: "/other?x=1") else {
      Issue.record("is not followed")
      return
    }
    #expect(same.method == "PUT" && same.body == hop.body && same.headers == hop.headers)
    #expect(same.target.text == "https://example.org:443/other?x=1")
    guard case .follow(let fetched) = hop.next(status: 303, location: "x") else {
      Issue.record("is not followed")
      return
    }
    #expect(fetched.method == "GET" && fetched.body.isEmpty && fetched.headers["content-type"] == nil)
    #expect(fetched.headers["authorization"] == "a" && fetched.target.uri == "/x")
    // A different host, port or scheme is a different server.
    for location in ["https://example.com/hook", "https://example.org:444/", "//sub.example.org/"] {
      guard case .follow(let other) = hop.next(status: 308, location: location) else {
        Issue.record("is not followed")
        continue
      }
      #expect(other.headers == ["content-type": "text/plain; charset=utf-8"] && other.body == hop.body)
    }
    #expect(hop.next(status: 302, location: "http://example.org/") == .refuse(.redirectRefused))
    #expect(hop.next(status: 302, location: "file:///etc/passwd") == .refuse(.redirectRefused))
    #expect(hop.next(status: 302, location: "https://") == .refuse(.redirectRefused))
    #expect(hop.next(status: 302, location: nil) == .done && hop.next(status: 304, location: "/x") == .done)
    #expect(hop.next(status: 200, location: "/x") == .done)
  }

  @Test func credentialsOfTheURLBecomeAHeader() throws {
    var hook = webhook()
    hook.url = "https://user:p%40ss@example.org/"
    let hop = try #require(HTTPActionHop(HTTPActionRequest(webhook: hook, notification: notification)))
    #expect(hop.headers["authorization"] == "Basic dXNlcjpwQHNz")
    hook.headers = ["AUTHORIZATION": "Bearer t"]
    let own = try #require(HTTPActionHop(HTTPActionRequest(webhook: hook, notification: notification)))
    #expect(own.headers["authorization"] == "Bearer t")
  }
}
