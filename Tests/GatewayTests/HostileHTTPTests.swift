import CampanileAPI
import CampanileRPC
import NIOCore
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Hostile requests: each is refused with a status, none reaches a backend, and the next request is served.
@Suite struct HostileHTTPTests {
  static let echo = "POST /campanile.rpc.v1.EchoService/Echo HTTP/1.1\r\n"
  static let json = "Content-Type: application/json\r\n"

  static let manyObjects = String(repeating: "{\"a\":", count: 4000)
  static let manyLetters = String(repeating: "a", count: 9000)
  static let megabyte = String(repeating: "a", count: 1_000_000)
  static let manyHeaders = (0..<1000).map { "x-\($0): a\r\n" }.joined()

  /// `KEY` and `SECRET` stand for a valid credential, so that only the fault can cause the refusal.
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
      "chunks and length",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
      400, "REQUEST_INVALID"
    ),
    (
      "chunks in upper case, and a length",
      "\(echo)Host: g\r\nKEY\(json)Content-Length: 4\r\ntransfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n", 400,
      "REQUEST_INVALID"
    ),
    (
      "chunked is not the last coding",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400, "REQUEST_INVALID"
    ),
    (
      "a space before the colon of chunks",
      "\(echo)Host: g\r\nKEY\(json)Content-Length: 2\r\nTransfer-Encoding : chunked\r\n\r\n{}", 400, "REQUEST_INVALID"
    ),
    (
      "a folded length", "\(echo)Host: g\r\nKEY\(json)Content-Length:\r\n 2\r\n\r\n{}", 400, "REQUEST_INVALID"
    ),
    ("two lengths in one field", "\(echo)Host: g\r\nKEY\(json)Content-Length: 2, 2\r\n\r\n{}", 400, "REQUEST_INVALID"),
    ("a length with a sign", "\(echo)Host: g\r\nKEY\(json)Content-Length: +2\r\n\r\n{}", 400, "REQUEST_INVALID"),
    ("a length in hexadecimal", "\(echo)Host: g\r\nKEY\(json)Content-Length: 0x2\r\n\r\n{}", 400, "REQUEST_INVALID"),
    (
      "a chunk without its end",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n", 400, nil
    ),
    (
      "a chunk size with letters",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, nil
    ),
    (
      "a megabyte after the last chunk",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-A: \(megabyte)\r\n\r\n", 400,
      "HEADERS_TOO_LARGE"
    ),
    (
      "odd transfer coding", "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501,
      "TRANSFER_ENCODING_UNSUPPORTED"
    ),
    (
      "another coding before chunks",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 501,
      "TRANSFER_ENCODING_UNSUPPORTED"
    ),
    (
      "an unknown coding before chunks",
      "\(echo)Host: g\r\nKEY\(json)Transfer-Encoding: foo\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      501, "TRANSFER_ENCODING_UNSUPPORTED"
    ),
    (
      "chunks in HTTP/1.0",
      "POST /v1/echo HTTP/1.0\r\nHost: g\r\nConnection: keep-alive\r\nKEY\(json)Transfer-Encoding: chunked\r\n\r\n"
        + "2\r\n{}\r\n0\r\n\r\n", 400, "REQUEST_INVALID"
    ),
    (
      "two credentials in a query",
      "GET /v1/echo:expand?count=1&access_token=SECRET&access_token=SECRET HTTP/1.1\r\nHost: g\r\n\r\n", 400,
      "REQUEST_INVALID"
    ),
    (
      "two credentials in the query of a method",
      "GET /campanile.rpc.v1.EchoService/Expand?encoding=json&message=%7B%7D&access_token=SECRET&access_token=x HTTP/1.1\r\n"
        + "Host: g\r\nAccept: text/event-stream\r\n\r\n", 400, nil
    ),
    (
      "a credential in the query and in a header",
      "GET /v1/echo:expand?count=1&access_token=SECRET HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "REQUEST_INVALID"
    ),
    (
      "two sessions",
      "\(echo)Host: g\r\nKEYAttendance-Session: a\r\nAttendance-Session: b\r\n\(json)Content-Length: 2\r\n\r\n{}", 400,
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
    ("not HTTP", "hello\r\n\r\n", 400, "REQUEST_INVALID"),
    ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n", 400, "REQUEST_INVALID"),
    ("null in a path", "GET /v1/echo/a%00b HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("a raw null in a path", "GET /v1/echo/a\u{0}b HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "REQUEST_INVALID"),
    ("a null in a header", "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A: a\u{0}b\r\n\r\n", 400, "REQUEST_INVALID"),
    ("a line break in a path", "GET /v1/echo/a%0d%0aX-A:%20b HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("half an encoding", "GET /v1/echo/%4 HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("bad encoding in a query", "GET /v1/echo/a?delayMs=%zz HTTP/1.1\r\nHost: g\r\nKEY\r\n", 400, "PATH_INVALID"),
    ("traversal with a backslash", "GET /v1/echo/..%5cfail/x HTTP/1.1\r\nHost: g\r\nKEY\r\n", 404, "ROUTE_UNKNOWN"),
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
    ("not JSON", "\(echo)Host: g\r\nKEY\(json)Content-Length: 3\r\n\r\n{x}", 400, "BODY_NOT_JSON"),
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
      "forged scopes in upper case",
      "\(echo)Host: g\r\nKEYCAMPANILE-SCOPES: admin\r\n\(json)Content-Length: 2\r\n\r\n{}", 400, "METADATA_RESERVED"
    ),
    (
      "a forged address for REST",
      "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYcampanile-remote-address: 10.0.0.1\r\n\r\n", 400, "METADATA_RESERVED"
    ),
    (
      "a lone carriage return in a header",
      "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A: a\rCampanile-Principal: user/root\r\n\r\n", 400, nil
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
      "malformed gzip", "\(echo)Host: g\r\nKEYContent-Encoding: gzip\r\n\(json)Content-Length: 2\r\n\r\n{}",
      400, "BODY_NOT_DECODED"
    ),
    (
      "a query with a whole body",
      "POST /v1/echo?payload=a HTTP/1.1\r\nHost: g\r\nKEY\(json)Content-Length: 2\r\n\r\n{}", 400, "QUERY_INVALID"
    ),
    (
      "GET of a method with side effects",
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
    ("a control character in a header", "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A: a\u{1}b\r\n\r\n", 400, nil),
    ("a space before the colon", "GET /v1/echo/a HTTP/1.1\r\nHost: g\r\nKEYX-A : a\r\n\r\n", 400, nil),
  ]

  @Test func hostileRequestsAreRefusedAndReachNoBackend() async throws {
    try await withHTTP { http in
      for request in Self.requests {
        let raw = request.raw.replacing("KEY", with: "Authorization: Bearer \(http.secret)\r\n").replacing(
          "SECRET", with: http.secret)
        let wire = try await HTTPWire(port: http.port)
        // The refusal may arrive before the whole request is sent.
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

  /// Valid requests whose values would form other requests if they were not escaped.
  @Test func valuesAreEscaped() async throws {
    try await withHTTP { http in
      let forged = #"x","campanile-principal":"user/root","y":"z"#
      let answer = try await http.post("/v1/echo", #"{"payload":"\r\nX-Evil: 1\r\n\r\n"}"#, ["X-A": forged])
      #expect(answer.status == 200 && answer.headers["x-evil"] == nil)
      #expect(answer.json["payload"] as? String == "\r\nX-Evil: 1\r\n\r\n")
      let seen = try #require(http.backend.seen.last)
      #expect(seen.metadata["x-a"] == forged)
      #expect(seen.principal?.name == "user/ada" && seen.metadata.values("campanile-principal").count <= 1)
      // A second request that is hidden in the body of the first one is only a body.
      let hidden = "GET /v1/echo/hidden HTTP/1.1\r\nHost: g\r\n\r\n"
      let count = http.backend.seen.all.count
      let outer = try await http.post("/v1/echo", hidden)
      #expect(outer.status == 400 && outer.reason == "BODY_NOT_JSON")
      #expect(http.backend.seen.all.count == count)
    }
  }

  /// A small compressed body is refused if it expands beyond the limit.
  @Test func bombsAreRefused() async throws {
    try await withHTTP {
      $0.bodyBytesMax = 100_000
    } _: { http in
      // 1,000,000 zeros, compressed.
      let bomb = try Deflated.zeros(1_000_000)
      #expect(bomb.count < 10_000)
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(
        "POST /v1/echo HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\(Self.json)Content-Encoding: deflate\r\n"
          + "Content-Length: \(bomb.count)\r\n\r\n")
      try await wire.send(bomb)
      let answer = HTTPWire.parse(try await wire.read())
      #expect(answer.status == 413 && answer.reason == "BODY_TOO_LARGE", "\(answer)")
      await wire.close()
      #expect(http.backend.seen.all.isEmpty)
    }
  }

  /// A credential is judged at each request, even if it was valid before on the same connection.
  @Test func aRevokedKeyEndsOnAnOpenConnection() async throws {
    try await withHTTP { http in
      let key = try await http.harness.key("user/bob")
      let wire = try await HTTPWire(port: http.port)
      func ask(_ secret: String) async throws -> HTTPWire.Answer {
        try await wire.send(
          Self.echo + "Host: g\r\nAuthorization: Bearer \(secret)\r\n\(Self.json)Content-Length: 2\r\n\r\n{}")
        return HTTPWire.parse(try await wire.read { HTTPWire.parse($0).status != 0 && $0.contains("}") })
      }
      for _ in 0..<3 { #expect(try await ask(key.secret).status == 200) }
      // Each of two callers on one connection keeps its identity.
      #expect(try await ask(http.secret).status == 200)
      #expect(http.backend.seen.last?.principal?.name == "user/ada")
      #expect(try await ask(key.secret).status == 200)
      #expect(http.backend.seen.last?.principal?.name == "user/bob")
      _ = try await http.harness.admin().revokeApiKey(.init(keyId: try #require(key.apiKey).id))
      let count = http.backend.seen.all.count
      let refused = try await ask(key.secret)
      #expect(refused.status == 401 && refused.reason == "CREDENTIAL_REVOKED", "\(refused)")
      #expect(try await ask(String(http.secret.dropLast()) + "!").reason == "CREDENTIAL_INVALID")
      #expect(http.backend.seen.all.count == count)
      #expect(try await ask(http.secret).status == 200)
      await wire.close()
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
        "POST /v1/echo HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\(Self.json)Content-Length: 5\r\n\r\n{",
      ] {
        let answer = try await HTTPWire.exchange(port: http.port, raw: start)
        #expect(answer.status == 408)
        #expect(answer.reason == "REQUEST_TIMEOUT")
      }
    }
  }

  @Test func longBodiesAreRefusedWhileTheyArrive() async throws {
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

  @Test func continueIsSentOnlyForAcceptableRequests() async throws {
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

/// A body with `Content-Encoding: deflate` (RFC 1950), made without a library: one literal, repeated by distance.
enum Deflated {
  static func zeros(_ count: Int) throws -> [UInt8] {
    var bits = BitWriter()
    // One block with the fixed codes (RFC 1951 section 3.2.6): a literal 0, then copies of 258 bytes at distance 1.
    bits.write(1, 1)
    bits.write(1, 2)
    bits.writeCode(0x30, 8)
    var left = count - 1
    while left >= 258 {
      // Length 258 is the code 285, and the distance 1 the code 0.
      bits.writeCode(0b1100_0101, 8)
      bits.writeCode(0, 5)
      left -= 258
    }
    for _ in 0..<left { bits.writeCode(0x30, 8) }
    bits.writeCode(0, 7)
    // Adler-32 of zeros: the sum of the bytes stays 1, and the sum of these sums is their count.
    let adler = UInt32(count % 65_521) << 16 | 1
    return [0x78, 0x9C] + bits.bytes() + withUnsafeBytes(of: adler.bigEndian) { Array($0) }
  }

  private struct BitWriter {
    private var done: [UInt8] = []
    private var current: UInt8 = 0
    private var count = 0

    mutating func write(_ value: UInt32, _ bitCount: Int) {
      for bit in 0..<bitCount { push(value >> UInt32(bit) & 1) }
    }
    /// Writes a code, highest bit first.
    mutating func writeCode(_ value: UInt32, _ bitCount: Int) {
      for bit in (0..<bitCount).reversed() { push(value >> UInt32(bit) & 1) }
    }
    private mutating func push(_ bit: UInt32) {
      current |= UInt8(bit) << UInt8(count)
      count += 1
      if count == 8 {
        done.append(current)
        (current, count) = (0, 0)
      }
    }
    func bytes() -> [UInt8] { count > 0 ? done + [current] : done }
  }
}
