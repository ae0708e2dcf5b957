import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import Foundation
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import Notifications

/// A resolver that returns the next scripted result for each call, and then repeats the last one.
private final class ScriptedResolver: HostResolving {
  private let answers: [String: [[String]]]
  private let calls = Mutex<[String: Int]>([:])

  init(_ answers: [String: [[String]]]) { self.answers = answers }

  func addresses(of host: String) async -> [IPAddress] {
    let index = calls.withLock { calls in
      calls[host, default: 0] += 1
      return (calls[host] ?? 1) - 1
    }
    guard let list = answers[host], let last = list.last else { return [] }
    return (index < list.count ? list[index] : last).compactMap { IPAddress($0) }
  }

  func callCount(_ host: String) -> Int { calls.withLock { $0[host] ?? 0 } }
}

/// A resolver that does not return until it is cancelled.
private struct HangingResolver: HostResolving {
  func addresses(of host: String) async -> [IPAddress] {
    try? await Task.sleep(for: .seconds(3_600))
    return []
  }
}

extension HTTPActionSender {
  fileprivate func send(_ request: HTTPActionRequest) async -> HTTPActionResult { await send(request, of: "anna") }
}

@Suite struct HTTPActionSenderTests {
  private func sender(
    allowing blocks: [String] = ["127.0.0.1/32"], resolver: any HostResolving = SystemHostResolver(),
    tls: TLSConfiguration = .makeClientConfiguration(), _ change: (inout HTTPActionLimits) -> Void = { _ in },
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> HTTPActionSender {
    var limits = HTTPActionLimits()
    limits.timeoutMs = 30_000
    limits.refusalStepMs = 1
    change(&limits)
    return HTTPActionSender(
      policy: try AddressPolicy(allowing: blocks), resolver: resolver, limits: limits, tls: tls, nowMs: { 0 }, log: log)
  }

  private func get(_ url: String, _ method: Webhook.Method = .get, headers: [String: String] = [:], body: String = "")
    -> HTTPActionRequest
  {
    let webhook = Webhook(method: method, url: url, headers: headers, body: body)
    return HTTPActionRequest(webhook: webhook, notification: Notification())
  }

  @Test func sendsMethodHeadersAndBody() async throws {
    let server = try ActionServer()
    let sender = try sender()
    var request = get(server.url("/hook?a=b"), .post, headers: ["X-Token": "secret"], body: "{\"x\":\"é\"}")
    request.idempotencyKey = "r_1"
    let result = await sender.send(request)
    #expect(result == HTTPActionResult(status: 200, reason: nil, message: "", isRetryable: false, retryAfterMs: nil))
    for method in [.get, .head, .put, .patch, .delete] as [Webhook.Method] {
      #expect(await sender.send(get(server.url("/m"), method)).isSuccess)
    }
    let told = try server.requests()
    #expect(told.map(\.method) == ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE"])
    #expect(told[0].path == "/hook?a=b" && told[0].body == "{\"x\":\"é\"}")
    #expect(told[0].headers["x-token"] == "secret" && told[0].headers["content-type"] == "application/json")
    #expect(told[0].headers["idempotency-key"] == "r_1" && told[0].headers["host"] == "127.0.0.1:\(server.port)")
    #expect(told[0].headers["user-agent"] == HTTPActionRequest.userAgent)
  }

  @Test func rejectsAddressesUnlessConfigured() async throws {
    let server = try ActionServer()
    let strict = try sender(allowing: [])
    let elsewhere = try sender(allowing: ["10.0.0.0/8", "127.0.0.2/32"])
    for url in [
      server.url("/x"), server.url("/x", host: "localhost"), server.url("/x", host: "127.1"),
      server.url("/x", host: "2130706433"), server.url("/x", host: "0x7f000001"), server.url("/x", host: "0"),
      server.url("/x", host: "[::1]"), server.url("/x", host: "[::ffff:127.0.0.1]"), "http://169.254.169.254/latest",
      "http://[64:ff9b::a9fe:a9fe]/", "http://192.168.0.1/", "http://10.255.255.1/",
    ] {
      let result = await strict.send(get(url))
      #expect(result.reason == .addressRefused && result.status == 0, "\(url)")
    }
    #expect(await elsewhere.send(get(server.url("/x"))).reason == .addressRefused)
    #expect(try server.requests().isEmpty)
  }

  @Test func returnsStatusAndRetryAfter() async throws {
    let server = try ActionServer()
    let sender = try sender()
    #expect(await sender.send(get(server.url("/status/404"))).reason?.rawValue == "HTTP_4XX")
    let broken = await sender.send(get(server.url("/status/503")))
    #expect(broken.status == 503 && broken.reason?.rawValue == "HTTP_5XX" && broken.isRetryable)
    let later = await sender.send(get(server.url("/later")))
    #expect(later.status == 429 && later.retryAfterMs == 120_000 && later.isRetryable)
    #expect(await sender.send(get(server.url("/status/304"))).reason?.rawValue == "HTTP_3XX")
    #expect(await sender.send(get(server.url("/large"))).isSuccess)
  }

  @Test func eachFollowedRedirectIsChecked() async throws {
    let server = try ActionServer()
    let other = try ActionServer()
    let sender = try sender()
    #expect(await sender.send(get(server.url("/chain/5"))).isSuccess)
    #expect(await sender.send(get(server.url("/chain/6"))).reason == .tooManyRedirects)
    for target in ["http://10.0.0.1/", "http://169.254.169.254/", "http://127.0.0.2:\(server.port)/", "http://[::1]/"] {
      let result = await sender.send(get(server.url("/redirect/302?to=\(target)")))
      #expect(result.reason == .addressRefused, "\(target)")
    }
    #expect(await sender.send(get(server.url("/redirect/301?to=ftp://127.0.0.1/"))).reason == .redirectRefused)
    let headers = ["Authorization": "secret"]
    let kept = await sender.send(get(server.url("/redirect/308?to=/kept"), .post, headers: headers, body: "b"))
    let moved = await sender.send(
      get(server.url("/redirect/307?to=\(other.url("/moved"))"), .post, headers: headers, body: "b"))
    let fetched = await sender.send(get(server.url("/redirect/303?to=/fetched"), .post, headers: headers, body: "b"))
    #expect(kept.isSuccess && moved.isSuccess && fetched.isSuccess)
    let told = try server.requests()
    let keptTold = try #require(told.first { $0.path == "/kept" })
    #expect(keptTold.method == "POST" && keptTold.body == "b" && keptTold.headers["authorization"] == "secret")
    let fetchedTold = try #require(told.first { $0.path == "/fetched" })
    #expect(fetchedTold.method == "GET" && fetchedTold.body.isEmpty && fetchedTold.headers["content-type"] == nil)
    let movedTold = try #require(try other.requests().first)
    #expect(movedTold.method == "POST" && movedTold.body == "b" && movedTold.headers["authorization"] == nil)
  }

  @Test func hostIsResolvedOnceAndEveryAddressIsChecked() async throws {
    let server = try ActionServer()
    // The first result is allowed and used for the connection; the host is not resolved a second time.
    let rebinding = ScriptedResolver(["once.test": [["127.0.0.1"], ["127.0.0.9"]]])
    #expect(await (try sender(resolver: rebinding)).send(get(server.url("/a", host: "once.test"))).isSuccess)
    #expect(rebinding.callCount("once.test") == 1)
    // One forbidden address rejects the host.
    let mixed = ScriptedResolver(["mixed.test": [["127.0.0.1", "169.254.169.254"]]])
    #expect(
      await (try sender(resolver: mixed)).send(get(server.url("/b", host: "mixed.test"))).reason == .addressRefused)
    // A redirect to the same host is resolved and checked again.
    let turning = ScriptedResolver(["turn.test": [["127.0.0.1"], ["10.0.0.1"]]])
    let turned = await (try sender(resolver: turning)).send(get(server.url("/chain/1", host: "turn.test")))
    #expect(turned.reason == .addressRefused && turning.callCount("turn.test") == 2)
    let told = try server.requests()
    #expect(told.map(\.path) == ["/a", "/chain/1"])
    #expect(told.map { $0.headers["host"] } == ["once.test:\(server.port)", "turn.test:\(server.port)"])
  }

  @Test func nextAddressIsTriedIfOneIsUnreachable() async throws {
    let server = try ActionServer()
    // The first address refuses connections.
    let resolver = ScriptedResolver(["two.test": [["127.0.0.2", "127.0.0.1"]]])
    let sender = try sender(allowing: ["127.0.0.0/8"], resolver: resolver)
    #expect(await sender.send(get(server.url("/x", host: "two.test"))).isSuccess)
    let unreachable = await sender.send(get(server.url("/x", host: "127.0.0.3")))
    #expect(unreachable.reason == .connectFailed && unreachable.isRetryable)
  }

  @Test func slowServersAndResolversTimeOut() async throws {
    let server = try ActionServer()
    let quick = try sender { $0.timeoutMs = 400 }
    let slow = await quick.send(get(server.url("/slow")))
    #expect(slow.reason == .timeout && slow.status == 0 && slow.isRetryable)
    // The response was received: an incomplete body does not matter.
    #expect(await quick.send(get(server.url("/drip"))).isSuccess)
    let hanging = try sender(resolver: HangingResolver()) { $0.timeoutMs = 50 }
    #expect(await hanging.send(get("http://never.test/")).reason == .timeout)
  }

  @Test func brokenServersAreReported() async throws {
    let server = try ActionServer()
    let sender = try sender()
    #expect(await sender.send(get(server.url("/garbage"))).reason == .responseInvalid)
    #expect(await sender.send(get(server.url("/close"))).reason == .connectionClosed)
    let tls = await sender.send(get(server.url("/x", scheme: "https")))
    #expect(tls.reason == .tlsFailed && !tls.isRetryable)
  }

  @Test func invalidRequestsAreNotSent() async throws {
    let server = try ActionServer()
    let sender = try sender()
    for headers in [
      ["Host": "x"], ["Content-Length": "5"], ["connection": "close"], ["Transfer-Encoding": "chunked"],
      ["X": "a\r\nY: b"], ["X\r\nY": "a"], ["X Y": "a"], ["": "a"], ["X": "a\u{0}"], ["X": "é"],
    ] {
      #expect(await sender.send(get(server.url("/x"), headers: headers)).reason == .headerInvalid, "\(headers)")
    }
    var connect = get(server.url("/x"))
    connect.method = "CONNECT"
    #expect(await sender.send(connect).reason == .urlInvalid)
    for url in ["", "ftp://127.0.0.1/", "http://", "file:///etc/passwd", "http://a b/"] {
      #expect(await sender.send(get(url)).reason == .urlInvalid, "\(url)")
    }
    #expect(try server.requests().isEmpty)
  }

  @Test("internal and missing names give the same result; the log distinguishes them")
  func internalNamesAreIndistinguishableFromMissingOnes() async throws {
    let lines = Mutex<[String]>([])
    let resolver = ScriptedResolver(["inside.test": [["10.0.0.5"]], "outside.test": [["127.0.0.1", "10.0.0.5"]]])
    let sender = try sender(resolver: resolver, { _ in }, log: { line in lines.withLock { $0.append(line) } })
    var results: Set<HTTPActionResult> = []
    for host in ["inside.test", "outside.test", "unknown.test"] {
      var request = get("http://\(host)/")
      request.idempotencyKey = "r_1"
      results.insert(await sender.send(request))
    }
    #expect(results.count == 1)
    #expect(results.first?.reason?.rawValue == "ADDRESS_REFUSED" && results.first?.isRetryable == true)
    let refused = "action run r_1: host"
    #expect(
      lines.withLock { $0 } == [
        "\(refused) inside.test resolves to 10.0.0.5, which must not be called",
        "\(refused) outside.test resolves to 10.0.0.5, which must not be called",
        "\(refused) unknown.test has no address",
      ])
    // An address in the URL is rejected permanently, because another attempt gives the same result.
    #expect(await sender.send(get("http://10.0.0.5/")).isRetryable == false)
  }

  @Test func rejectedNamesTakeTheSameTime() async throws {
    let resolver = ScriptedResolver(["inside.test": [["10.0.0.5"]]])
    let sender = try sender(resolver: resolver) {
      $0.refusalStepMs = 3_600_000
      $0.timeoutMs = 20
    }
    // Neither host is rejected before the step, which is longer here than the request's time limit.
    for host in ["inside.test", "unknown.test"] {
      #expect(await sender.send(get("http://\(host)/")).reason == .timeout)
    }
  }

  @Test func concurrentRequestsAreLimited() async throws {
    let sender = try sender {
      $0.queue.inFlightMax = 0
      $0.queue.waiting = SharedLimit(total: 0, perUser: 0)
    }
    let busy = await sender.send(get("http://127.0.0.1/"))
    #expect(busy.reason == .senderBusy && busy.isRetryable)
  }

  @Test func certificatesAreVerifiedForHostOfURL() async throws {
    let folder = try TemporaryFolder()
    let (certificate, key) = (folder.file("cert.pem"), folder.file("key.pem"))
    try ExternalProgram.makeCertificate(certificate, key: key, names: "DNS:good.test")
    let server = try ActionServer(tls: [certificate, key])
    let resolver = ScriptedResolver(["good.test": [["127.0.0.1"]], "bad.test": [["127.0.0.1"]]])
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(certificate)
    let trusting = try sender(resolver: resolver, tls: tls)
    #expect(await trusting.send(get(server.url("/x", scheme: "https", host: "good.test"))).isSuccess)
    #expect(await trusting.send(get(server.url("/x", scheme: "https", host: "bad.test"))).reason == .tlsFailed)
    let cautious = try sender(resolver: resolver)
    #expect(await cautious.send(get(server.url("/x", scheme: "https", host: "good.test"))).reason == .tlsFailed)
    let downgrade = server.url("/redirect/302?to=http://good.test/", scheme: "https", host: "good.test")
    #expect(await trusting.send(get(downgrade)).reason == .redirectRefused)
  }
}
