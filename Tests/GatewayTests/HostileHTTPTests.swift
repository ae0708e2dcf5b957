import CampanileRPC
import NIOCore
import Testing

@testable import Gateway

/// Requests that no client sends by mistake: each has a status, nothing of them reaches a backend, and the next request is served.
@Suite struct HostileHTTPTests {
  static let echo = "POST /campanile.rpc.v1.EchoService/Echo HTTP/1.1\r\n"
  static let json = "Content-Type: application/json\r\n"

  /// `KEY` stands for a good credential, so that the fault alone refuses.
  static let manyObjects = String(repeating: "{\"a\":", count: 4000)
  static let manyLetters = String(repeating: "a", count: 9000)
  static let megabyte = String(repeating: "a", count: 1_000_000)
  static let manyHeaders = (0..<1000).map { "x-\($0): a\r\n" }.joined()

  static let requests: [(name: String, raw: String, status: Int, reason: String?)] = [
    (
      "two lengths", "\(echo)Host: g\r\nKEY\(json)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400,
      "REQUEST_INVALID"
    ),
    (
      "length and chunks",
      "\(echo)Host: g\r\nKEY\(json)Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
      "REQUEST_INVALID"
    ),
    (
      "odd transfer coding", "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400,
      "REQUEST_INVALID"
    ),
    ("negative length", "\(echo)Host: g\r\nKEY\(json)Content-Length: -1\r\n\r\n", 400, "REQUEST_INVALID"),
    (
      "chunk size that overflows",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400, nil
    ),
    ("no host", "\(echo)KEY\(json)Content-Length: 2\r\n\r\n{}", 400, "REQUEST_INVALID"),
    ("two hosts", "\(echo)Host: a\r\nHost: b\r\nKEY\(json)Content-Length: 2\r\n\r\n{}", 400, "REQUEST_INVALID"),
    ("two credentials", "\(echo)Host: g\r\nKEYKEY\(json)Content-Length: 2\r\n\r\n{}", 400, "REQUEST_INVALID"),
    ("no HTTP", "hello\r\n\r\n", 400, "REQUEST_INVALID"),
    ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n", 400, "REQUEST_INVALID"),
    ("null in a path", "GET /v1/echo/a%00b HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("traversal", "GET /v1/echo/../fail HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("hidden traversal", "GET /v1/echo/%2e%2E HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("bad encoding", "GET /v1/echo/%zz HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("overlong UTF-8", "GET /v1/echo/%c0%ae HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("absolute target", "GET http://other/v1/echo/a HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    (
      "long target", "GET /v1/echo/\(manyLetters) HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400,
      "REQUEST_INVALID"
    ),
    (
      "a megabyte of headers",
      "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A: \(megabyte)\r\n\r\n", 431,
      "HEADERS_TOO_LARGE"
    ),
    (
      "a thousand headers",
      "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEY\(manyHeaders)\r\n", 431,
      "HEADERS_TOO_LARGE"
    ),
    (
      "JSON in a GET", "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEY\(json)Content-Length: 2\r\n\r\n{}", 400,
      "BODY_UNEXPECTED"
    ),
    (
      "wrong type", "\(echo)Host: g\r\nKEYContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415,
      "CONTENT_TYPE_UNSUPPORTED"
    ),
    (
      "wrong type for REST",
      "POST /v1/echo HTTP/1.1\r\nHost: g\r\nKEYContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415,
      "CONTENT_TYPE_UNSUPPORTED"
    ),
    ("no type", "\(echo)Host: g\r\nKEYContent-Length: 2\r\n\r\n{}", 415, "CONTENT_TYPE_UNSUPPORTED"),
    ("no JSON", "\(echo)Host: g\r\nKEY\(json)Content-Length: 3\r\n\r\n{x}", 400, "BODY_NOT_JSON"),
    ("more than JSON", "\(echo)Host: g\r\nKEY\(json)Content-Length: 4\r\n\r\n{},0", 400, "BODY_NOT_JSON"),
    (
      "another envelope", "\(echo)Host: g\r\nKEY\(json)Content-Length: 18\r\n\r\n{}},\"id\":1,\"x\":{{}", 400,
      "BODY_NOT_JSON"
    ),
    ("an array", "\(echo)Host: g\r\nKEY\(json)Content-Length: 2\r\n\r\n[]", 400, "BODY_NOT_OBJECT"),
    (
      "deep JSON",
      "\(echo)Host: g\r\nKEY\(json)Content-Length: 20000\r\n\r\n\(manyObjects)", 400,
      "BODY_NOT_JSON"
    ),
    (
      "forged principal",
      "\(echo)Host: g\r\nKEYCampanile-Principal: user/root\r\n\(json)Content-Length: 2\r\n\r\n{}", 400,
      "METADATA_RESERVED"
    ),
    (
      "odd header name", "\(echo)Host: g\r\nKEYx!a: b\r\n\(json)Content-Length: 2\r\n\r\n{}", 400,
      "METADATA_KEY_INVALID"
    ),
    ("declared too long", "\(echo)Host: g\r\nKEY\(json)Content-Length: 999999999\r\n\r\n", 429, "BODY_TOO_LARGE"),
    (
      "declared too long for REST",
      "POST /v1/echo HTTP/1.1\r\nHost: g\r\nKEY\(json)Content-Length: 999999999\r\n\r\n", 413, "BODY_TOO_LARGE"
    ),
    (
      "odd content coding", "\(echo)Host: g\r\nKEYContent-Encoding: br\r\n\(json)Content-Length: 2\r\n\r\n{}", 501,
      "CONTENT_ENCODING_UNSUPPORTED"
    ),
    (
      "gzip that is none", "\(echo)Host: g\r\nKEYContent-Encoding: gzip\r\n\(json)Content-Length: 2\r\n\r\n{}",
      400, "BODY_NOT_DECODED"
    ),
    (
      "a query with a whole body",
      "POST /v1/echo?payload=a HTTP/1.1\r\nHost: g\r\nKEY\(json)Content-Length: 2\r\n\r\n{}", 400, "QUERY_INVALID"
    ),
    (
      "GET of what changes things",
      "GET /campanile.rpc.v1.EchoService/Fail?encoding=json&message=%7B%7D HTTP/1.1\r\nHost: g\r\nKEY\r\n", 405,
      "METHOD_NOT_ALLOWED"
    ),
    (
      "another protocol version",
      "\(echo)Host: g\r\nKEYConnect-Protocol-Version: 9\r\n\(json)Content-Length: 2\r\n\r\n{}", 400,
      "PROTOCOL_UNSUPPORTED"
    ),
    (
      "odd time-out", "\(echo)Host: g\r\nKEYConnect-Timeout-Ms: -5\r\n\(json)Content-Length: 2\r\n\r\n{}", 400,
      "TIMEOUT_INVALID"
    ),
    ("CONNECT", "CONNECT other:80 HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, nil),
    ("TRACE", "TRACE /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEY\r\n", 405, "METHOD_NOT_ALLOWED"),
    ("a lone line feed in a header", "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A: a\u{1}b\r\n\r\n", 400, nil),
    ("a space before the colon", "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A : a\r\n\r\n", 400, nil),
  ]

  @Test func eachIsRefusedAndNothingReachesABackend() async throws {
    try await withHTTP { http in
      for request in Self.requests {
        let raw = request.raw.replacing("KEY", with: "Authorization: Bearer \(http.secret)\r\n")
        let wire = try await HTTPWire(port: http.port)
        // A refusal may come before all of it is sent.
        try? await wire.send(raw)
        let answer = HTTPWire.parse(try await wire.read { HTTPWire.parse($0).status != 0 && $0.contains("}") })
        #expect(answer.status == request.status, "\(request.name): \(answer)")
        if let reason = request.reason { #expect(answer.reason == reason, "\(request.name): \(answer)") }
        await wire.close()
        #expect(http.backend.seen.all.isEmpty, "\(request.name)")
      }
      #expect(try await http.get("/v1/echo/still").json["payload"] as? String == "still")
    }
  }

  @Test func slowRequestsAreEnded() async throws {
    try await withHTTP {
      $0.headerTimeoutMs = 40
      $0.bodyTimeoutMs = 40
      $0.idleTimeoutMs = 60_000
    } _: { http in
      for start in [
        "GET /v1/ec",
        "POST /v1/echo HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{",
      ] {
        let answer = try await HTTPWire.exchange(port: http.port, raw: start)
        #expect(answer.status == 408)
        #expect(answer.reason == "REQUEST_TIMEOUT")
      }
    }
  }

  @Test func longBodiesAreRefusedWhileTheyCome() async throws {
    try await withHTTP {
      $0.bodyBytesMax = 10_000
    } _: { http in
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(
        "POST /v1/echo HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\(Self.json)Transfer-Encoding: chunked\r\n\r\n"
      )
      for _ in 0..<20 { try? await wire.send("400\r\n" + String(repeating: "a", count: 1024) + "\r\n") }
      let answer = HTTPWire.parse(try await wire.read())
      #expect(answer.status == 413)
      await wire.close()
      #expect(http.backend.seen.all.isEmpty)
    }
  }

  @Test func anInterimAnswerComesOnlyForWhatIsWanted() async throws {
    try await withHTTP { http in
      let wire = try await HTTPWire(port: http.port)
      let head =
        "POST /v1/echo HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\(Self.json)Expect: 100-continue\r\n"
      try await wire.send(head + "Content-Length: 15\r\n\r\n")
      let interim = try await wire.read { $0.contains("\r\n\r\n") }
      #expect(interim.hasPrefix("HTTP/1.1 100"))
      try await wire.send(#"{"payload":"p"}"#)
      await wire.close()
      let refused = try await HTTPWire.exchange(port: http.port, raw: head + "Content-Length: 999999999\r\n\r\n")
      #expect(refused.status == 413)
    }
  }
}
