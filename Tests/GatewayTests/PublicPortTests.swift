import CampanileRPC
import NIOHTTP1
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// The public HTTP port: its paths other than calls, and the host names that it accepts.
@Suite struct PublicPortTests {
  @Test func metricsAreNotOnThePublicPort() async throws {
    try await withHTTP { http in
      let answer = try await http.get("/metrics")
      #expect(answer.status == 404)
      #expect(answer.reason == "ROUTE_UNKNOWN")
      #expect(try await http.get("/healthz").body == "ok")
    }
  }

  // MARK: /openapi.json

  private func ask(_ file: StaticFile, _ headers: [(String, String)]) throws -> (
    status: Int, headers: [String: String], body: [UInt8]
  ) {
    let head = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: "/openapi.json", headers: HTTPHeaders([("Host", "g")] + headers))
    guard case .answer(let status, let found, let body) = file.answer(to: try RequestHead(head)) else {
      Issue.record("no response")
      return (0, [:], [])
    }
    return (status, Dictionary(found) { $1 }, body)
  }

  @Test func compressedDocumentEqualsTheDocument() throws {
    let document = [UInt8]((0..<20_000).map { UInt8($0 % 97) })
    let file = StaticFile(contentType: "application/json") { document }
    let plain = try ask(file, [])
    #expect(plain.body == document)
    #expect(plain.headers["Content-Encoding"] == nil)
    let packed = try ask(file, [("Accept-Encoding", "br, gzip;q=0.5")])
    #expect(packed.headers["Content-Encoding"] == "gzip")
    #expect(packed.body.count < document.count / 2)
    let unpacked = try packed.body.withUnsafeBytes { try Gunzip.decompress($0, bytesMax: 20_000) }
    #expect(unpacked == document)
    // Two representations, so two strong tags.
    let tags = try [plain, packed].map { try #require($0.headers["ETag"]) }
    #expect(tags[0] != tags[1])
    #expect(tags.allSatisfy { $0.hasPrefix("\"") })
  }

  @Test(arguments: [
    ("gzip", true), ("*", true), ("gzip;q=0", false), ("gzip; q=0.0, *", false), ("*;q=0", false),
    ("deflate, br", false),
    ("identity", false), ("GZIP", true), ("x-gzip", true), ("gzip;q=x", false), ("", false),
  ])
  func acceptEncodingChoosesTheRepresentation(value: String, isCompressed: Bool) throws {
    let file = StaticFile(contentType: "text/plain") { [UInt8](repeating: 7, count: 5000) }
    let answer = try ask(file, [("Accept-Encoding", value)])
    #expect(answer.status == 200)
    #expect((answer.headers["Content-Encoding"] == "gzip") == isCompressed)
  }

  @Test func cachedDocumentIsNotSentAgain() async throws {
    try await withHTTP { http in
      for headers in [["Accept-Encoding": "gzip"], ["Accept-Encoding": "deflate"], [:]] {
        let first = try await http.get("/openapi.json", headers)
        #expect(first.status == 200)
        #expect(first.headers["content-type"] == "application/json")
        // Never compressed by the connection, which would do so for each request.
        #expect(first.headers["content-encoding"] == (headers["Accept-Encoding"] == "gzip" ? "gzip" : nil))
        #expect(first.headers["cache-control"] == "public, max-age=300")
        #expect(first.headers["vary"] == "Accept-Encoding")
        let etag = try #require(first.headers["etag"])
        let again = try await http.get("/openapi.json", headers.merging(["If-None-Match": "\"x\", \(etag)"]) { $1 })
        #expect(again.status == 304)
        #expect(again.headers["etag"] == etag)
        #expect(again.body.isEmpty)
        #expect(try await http.get("/openapi.json", headers.merging(["If-None-Match": "\"x\""]) { $1 }).status == 200)
      }
    }
  }

  // MARK: Host

  @Test(arguments: [
    ("localhost", true), ("LocalHost:7480", true), ("127.0.0.1", true), ("127.9.9.9:1", true), ("[::1]:7480", true),
    ("[::1]", true), ("api.example", true), ("API.example:443", true), ("evil.example", false), ("", false),
    ("localhost.evil.example", false), ("127.0.0.1.evil.example", false), ("evil.example:7480", false),
    ("127.0.0.1:80@evil.example", false), ("[::1]evil.example", false), ("[::1", false), ("0.0.0.0", false),
    ("[::ffff:127.0.0.1]", false), ("api.example.", false), ("10.0.0.1", false), ("api.example:x", false),
  ])
  func hostGuardKnowsThisMachineAndTheConfiguredNames(host: String, isAllowed: Bool) throws {
    let guarding = try #require(HostGuard(names: ["Api.Example"]))
    #expect(guarding.allows(host) == isAllowed)
  }

  @Test(arguments: ["https://api.example", "api.example:443", "", "a b", "a/b", "*", "[::1", "é.example"])
  func invalidHostNamesAreRefused(name: String) {
    #expect(HostGuard(names: ["api.example", name]) == nil)
  }

  private func exchange(
    _ port: Int, _ request: String, _ hosts: [String], _ more: String = ""
  ) async throws -> HTTPWire.Answer {
    let lines = hosts.map { "Host: \($0)\r\n" }.joined()
    return try await HTTPWire.exchange(port: port, raw: "\(request)\r\n\(lines)Connection: close\r\n\(more)\r\n")
  }

  @Test func foreignHostIsRefusedBeforeAnythingElse() async throws {
    try await withHTTP({ $0.hostGuard = HostGuard(names: ["api.example"]) }) { http in
      for request in [
        "GET /v1/echo/a HTTP/1.1", "GET /healthz HTTP/1.1", "GET /openapi.json HTTP/1.1", "GET /nothing HTTP/1.1",
        "OPTIONS /v1/echo/a HTTP/1.1", "POST \(HTTPFrontendTests.echo) HTTP/1.1", "DELETE /v1/echo/a HTTP/1.1",
        "GET /healthz HTTP/1.0",
      ] {
        for hosts in [["evil.example"], ["127.0.0.1", "evil.example"]] {
          let answer = try await exchange(http.port, request, hosts, "Authorization: Bearer wrong\r\n")
          #expect(answer.status == 403, "\(request)")
          #expect(answer.reason == "HOST_NOT_ALLOWED", "\(request)")
        }
      }
      for host in ["127.0.0.1:\(http.port)", "localhost", "api.example"] {
        let answer = try await exchange(
          http.port, "GET /v1/echo/a HTTP/1.1", [host], "Authorization: Bearer \(http.secret)\r\n")
        #expect(answer.status == 200)
      }
      // Browsers always send a host.
      let old = try await exchange(http.port, "GET /healthz HTTP/1.0", [])
      #expect(old.status == 200)
    }
    try await withHTTP { http in
      let any = try await exchange(http.port, "GET /healthz HTTP/1.1", ["any.example"])
      #expect(any.status == 200)
    }
  }
}
