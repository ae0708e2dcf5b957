import CampanileAPI
import CampanileRPC
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayHTTP

@Suite struct HTTPFrontendTests {
  static let echo = "/campanile.rpc.v1.EchoService/Echo"
  static let expand = "/campanile.rpc.v1.EchoService/Expand"
  static let fail = "/campanile.rpc.v1.EchoService/Fail"

  @Test func connectUnaryCallsAreForwarded() async throws {
    try await withHTTP { http in
      let answer = try await http.post(
        Self.echo, #"{"payload":"café \"x\""}"#,
        ["Connect-Protocol-Version": "1", "Connect-Timeout-Ms": "5000", "X-Custom": "c", "User-Agent": "u"])
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.json["payload"] as? String == "café \"x\"")
      let context = try #require(http.backend.seen.last)
      #expect(context.principal?.name == "user/ada")
      #expect(context.metadata["x-custom"] == "c")
      #expect(context.metadata["user-agent"] == nil)
      #expect(context.metadata["authorization"] == nil)
      let remaining = try #require(context.deadline?.remainingMs())
      #expect((1...5000).contains(remaining))
      #expect(try await http.post(Self.echo, "").json.isEmpty)
      let get = try await http.get(Self.echo + "?connect=v1&encoding=json&base64=1&message=eyJwYXlsb2FkIjoiZyJ9")
      #expect(get.json["payload"] as? String == "g")
    }
  }

  @Test func connectErrorsFollowTheProtocol() async throws {
    try await withHTTP { http in
      for (code, name, status) in [
        (5, "not_found", 404), (7, "permission_denied", 403), (14, "unavailable", 503), (1, "canceled", 499),
      ] {
        let answer = try await http.post(Self.fail, #"{"code":\#(code),"message":"m","key":"k\#(code)"}"#)
        #expect(answer.status == status)
        #expect(answer.json["code"] as? String == name)
        #expect(answer.headers["content-type"] == "application/json")
      }
      let wrong = try await http.post(Self.echo, #"{"payload":1}"#)
      #expect(wrong.status == 400)
      #expect(wrong.json["code"] as? String == "invalid_argument")
      #expect(try await http.post(Self.echo, #"{"nothing":1}"#).status == 200)
      let late = try await http.post(Self.echo, #"{"delayMs":60000}"#, ["Connect-Timeout-Ms": "50"])
      #expect(late.status == 504)
      #expect(try await http.post(Self.echo, "{}", ["Connect-Timeout-Ms": "0"]).status == 504)
      #expect(try await http.post("/campanile.rpc.v1.EchoService/Nothing", "{}").status == 501)
      #expect(try await http.post("/other.v1.Service/Nothing", "{}").status == 501)
    }
  }

  @Test func connectStreamsAreEnvelopes() async throws {
    try await withHTTP { http in
      let message = #"{"payload":"x","count":100}"#
      let wire = try await HTTPWire(port: http.port)
      var request = Array(
        """
        POST \(Self.expand) HTTP/1.1\r
        Host: g\r
        Connection: close\r
        Authorization: Bearer \(http.secret)\r
        Content-Type: application/connect+json\r
        Content-Length: \(message.utf8.count + 5)\r
        \r

        """.utf8)
      request += [0, 0, 0, 0, UInt8(message.utf8.count)]
      request += Array(message.utf8)
      try await wire.send(request)
      let answer = HTTPWire.parse(try await wire.read())
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/connect+json")
      var bytes = ByteBuffer(string: answer.body)
      var flags: [UInt8] = []
      var last = ""
      while let flag: UInt8 = bytes.readInteger(), let length: UInt32 = bytes.readInteger() {
        flags.append(flag)
        last = bytes.readString(length: Int(length)) ?? ""
      }
      #expect(flags == Array(repeating: 0, count: 100) + [2])
      #expect(last == "{}")
      await wire.close()
      #expect(try await http.post(Self.expand, "{}").status == 415)
    }
  }

  @Test func restBindsPathQueryAndBody() async throws {
    try await withHTTP { http in
      #expect(try await http.get("/v1/echo/a%20b%2Fc?delayMs=1").json["payload"] as? String == "a b/c")
      #expect(try await http.post("/v1/echo/x:again", #"{"payload":"other"}"#).json["payload"] as? String == "x")
      #expect(try await http.post("/v1/echo", #"{"payload":"whole"}"#).json["payload"] as? String == "whole")
      let put = try await HTTPWire.exchange(port: http.port, "PUT", "/v1/tree/a/b/c", http.json, body: "1")
      #expect(put.json["payload"] as? String == "a/b/c")
      let unknown = try await http.get("/v1/echo/a?nothing=1")
      #expect(unknown.status == 400)
      #expect(unknown.reason == "FIELD_UNKNOWN")
      #expect(try await http.get("/v1/nothing").status == 404)
      let other = try await HTTPWire.exchange(port: http.port, "DELETE", "/v1/echo/a", http.bearer)
      #expect(other.status == 405)
      #expect(other.headers["allow"] == "GET")
      let failed = try await http.post("/v1/fail", #"{"code":9,"message":"m","key":"rest"}"#)
      #expect(failed.status == 400)
      #expect(failed.errorStatus == "FAILED_PRECONDITION")
      #expect(try await http.get("/healthz").body == "ok")
    }
  }

  @Test func eventsAndLinesStream() async throws {
    // A busy machine may need more time to refuse a call.
    try await withHTTP({ $0.openingMs = 5_000 }) { http in
      let events = try await http.get("/v1/echo:expand?count=50&payload=p", ["Accept": "text/event-stream"])
      #expect(events.status == 200)
      #expect(events.headers["content-type"] == "text/event-stream")
      #expect(events.body.components(separatedBy: "\ndata: {\"").count == 51)
      #expect(events.body.hasSuffix("event: end\ndata: {}\n\n"))
      let lines = try await http.get("/v1/echo:expand?count=50", ["Accept": "application/x-ndjson"])
      #expect(lines.body.split(separator: "\n").count == 50)
      let post = try await http.post(Self.expand, #"{"count":3}"#, ["Accept": "text/event-stream"])
      #expect(post.body.components(separatedBy: "data: ").count == 5)
      // A refusal sets the status.
      let refused = try await http.get("/v1/echo:expand?count=99999999")
      #expect(refused.status == 400)
      let anonymous = try await HTTPWire.exchange(port: http.port, "GET", "/v1/echo:expand")
      #expect(anonymous.status == 401)
      let query = try await HTTPWire.exchange(
        port: http.port, "GET", "/v1/echo:expand?count=1&access_token=\(http.secret)")
      #expect(query.status == 200)
    }
  }

  @Test func aQuietStreamOpensAndPings() async throws {
    try await withHTTP {
      $0.openingMs = 20
      $0.pingMs = 40
    } _: { http in
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(
        "GET /v1/echo:expand?count=2&intervalMs=60000 HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\r\n"
      )
      let text = try await wire.read { $0.contains(": ping") }
      #expect(text.contains(": open"))
      await wire.close()
      // Disconnecting cancels the call.
      try await eventually("the call is cancelled") { http.harness.recorder.all.contains { $0.code == "CANCELLED" } }
    }
  }

  @Test func pendingCallEndsWhenItsCallerDisconnects() async throws {
    try await withHTTP { http in
      let wire = try await HTTPWire(port: http.port)
      let body = #"{"delayMs":60000}"#
      try await wire.send(
        "POST \(Self.echo) HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\nContent-Type: application/json\r\n"
          + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
      try await eventually("the call has arrived") { http.backend.seen.last != nil }
      await wire.close()
      try await eventually("the call is cancelled") { http.harness.recorder.all.contains { $0.code == "CANCELLED" } }
    }
  }

  @Test func credentialsAreCheckedOnEveryPath() async throws {
    try await withHTTP { http in
      let missing = try await HTTPWire.exchange(
        port: http.port, "POST", Self.echo, ["Content-Type": "application/json"], body: "{}")
      #expect(missing.status == 401)
      #expect(missing.headers["www-authenticate"] == "Bearer")
      for (method, path) in [
        ("POST", Self.echo), ("GET", "/v1/echo/a"), ("GET", "/openapi.json"), ("GET", "/nothing"),
        ("POST", "/grpc.health.v1.Health/Check"),
        ("GET", "/v1/echo:expand"), ("DELETE", "/v1/echo/a"),
      ] {
        let answer = try await HTTPWire.exchange(
          port: http.port, method, path,
          ["Authorization": "Bearer cmp_wrong", "Content-Type": "application/json"], body: method == "POST" ? "{}" : nil
        )
        #expect(answer.status == 401, "\(method) \(path)")
        #expect(answer.headers["www-authenticate"] == "Bearer error=\"invalid_token\"")
      }
      #expect(http.backend.seen.all.isEmpty)
      let health = try await HTTPWire.exchange(
        port: http.port, "POST", "/grpc.health.v1.Health/Check", ["Content-Type": "application/json"], body: "{}")
      #expect(health.status == 501)
      #expect(try await HTTPWire.exchange(port: http.port, "GET", "/openapi.json").status == 200)
      let scope = try await http.get("/gateway/v1/apiKeys")
      #expect(scope.status == 403)
      #expect(scope.reason == "SCOPE_MISSING")
    }
  }

  @Test func pipelinedResponsesKeepTheirOrder() async throws {
    try await withHTTP { http in
      let wire = try await HTTPWire(port: http.port)
      var text = ""
      for index in 0..<20 {
        text +=
          "GET /v1/echo/n\(index)?delayMs=\(20 - index) HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\r\n"
      }
      try await wire.send(text)
      let answers = try await wire.read { $0.contains("\"n19\"") }
      var rest = answers[...]
      for index in 0..<20 {
        let found = try #require(rest.range(of: "{\"payload\":\"n\(index)\"}"))
        rest = rest[found.upperBound...]
      }
      await wire.close()
    }
  }

  @Test func pipelinedBytesWaitForTheResponse() async throws {
    try await withHTTP { http in
      let wire = try await HTTPWire(port: http.port)
      let long = String(repeating: "x", count: 200_000)
      let head = "HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n"
      func post(_ payload: String) -> String {
        let body = "{\"payload\":\"\(payload)\"}"
        let type = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)"
        return "POST \(Self.echo) \(head)\(type)\r\n\r\n\(body)"
      }
      try await wire.send("GET /v1/echo/first?delayMs=300 \(head)\r\n")
      try await eventually("the call has arrived") { http.backend.seen.last != nil }
      // Send pieces that split a head and a body and that exceed one read.
      for piece in (post("second") + post(long) + post("fourth")).split(every: 50_001) {
        try await wire.send(piece)
        try await Task.sleep(for: .milliseconds(20))
      }
      let answers = try await wire.read { $0.contains("\"fourth\"") }
      var rest = answers[...]
      for payload in ["first", "second", long, "fourth"] {
        let found = try #require(rest.range(of: "{\"payload\":\"\(payload)\"}"))
        rest = rest[found.upperBound...]
      }
      // The connection remains usable.
      try await wire.send("GET /v1/echo/fifth \(head)\r\n")
      _ = try await wire.read { $0.contains("\"fifth\"") }
      await wire.close()
    }
  }

  @Test func openAPIDocumentDescribesTheRoutes() async throws {
    try await withHTTP { http in
      let document = try await http.get("/openapi.json").json
      #expect(document["openapi"] as? String == "3.1.0")
      let paths = try #require(document["paths"] as? [String: [String: Any]])
      #expect(paths["/v1/echo/{payload}"]?["get"] != nil)
      #expect(paths["/v1/echo/{payload}:again"]?["post"] != nil)
    }
  }
}

extension String {
  /// Splits an ASCII string into pieces of `count` characters.
  fileprivate func split(every count: Int) -> [String] {
    let bytes = Array(utf8)
    return stride(from: 0, to: bytes.count, by: count).map {
      String(decoding: bytes[$0..<min($0 + count, bytes.count)], as: UTF8.self)
    }
  }
}
