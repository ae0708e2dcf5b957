import CampanileAPI
import CampanileBase
import CampanileRPC
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Limits on buffered body bytes: for unauthenticated callers, for one caller, and for the process.
@Suite struct HTTPBodyTests {
  private static let kilobyte = String(repeating: " ", count: 1024)

  private static func budget(total: Int = 64 << 20, holder: Int = 16 << 20) -> WaitingBytesBudget {
    WaitingBytesBudget(totalBytesMax: total, holderBytesMax: holder)
  }

  /// Runs `body` with a gateway whose method `Fail` is public, as logins are.
  private static func with(
    _ budget: WaitingBytesBudget, _ configure: (inout HTTPConfiguration) -> Void = { _ in },
    _ body: (HTTPHarness) async throws -> Void
  ) async throws {
    try await withHTTP(
      configure,
      gateway: {
        $0.waitingBytesBudget = budget
        $0.methods = HTTPHarness.methods.map { method in
          var method = method
          if method.name == "Fail" { method.scope = "public" }
          return method
        }
      }, body)
    #expect(budget.totalBytes == 0 && budget.holderCount == 0)
  }

  private static func head(_ path: String, _ length: Int, _ more: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: g\r\n\(more)\(HostileHTTPTests.json)Content-Length: \(length)\r\n\r\n"
  }

  /// Starts a request with an unfinished body.
  private static func unfinished(_ http: HTTPHarness, _ head: String, _ bytes: [UInt8]) async throws -> HTTPWire {
    let wire = try await HTTPWire(port: http.port)
    try await wire.send(head)
    try? await wire.send(bytes)
    return wire
  }

  @Test func unfinishedAnonymousBodiesDoNotBlockOthers() async throws {
    let budget = Self.budget()
    try await Self.with(budget) { http in
      let bomb = try Deflated.zeros(4_000_000)
      var wires: [HTTPWire] = []
      for index in 0..<75 {
        // Alternate between a method that requires a credential and a public one.
        let path = index % 2 == 0 ? "/v1/echo" : "/v1/fail"
        let head = Self.head(path, bomb.count + 8, "Content-Encoding: deflate\r\n")
        wires.append(try await Self.unfinished(http, head, bomb))
      }
      let answer = try await http.post("/v1/echo", #"{"payload":"p"}"#)
      #expect(answer.status == 200)
      #expect(budget.totalBytes <= 75 * (64 + 48) * 1024)
      for wire in wires { await wire.close() }
      try await eventually("all bytes are released") { budget.totalBytes == 0 }
    }
  }

  @Test func anonymousBodiesAreLimitedInLength() async throws {
    try await Self.with(Self.budget()) { http in
      let declared = try await HTTPWire.exchange(port: http.port, raw: Self.head("/v1/fail", 65_537))
      #expect(declared.status == 413 && declared.reason == "BODY_TOO_LARGE", "\(declared)")
      let bomb = try Deflated.zeros(70_000)
      let wire = try await Self.unfinished(
        http, Self.head("/v1/fail", bomb.count, "Content-Encoding: deflate\r\n"), bomb)
      let unpacked = HTTPWire.parse(try await wire.read { $0.contains("}") })
      #expect(unpacked.status == 413 && unpacked.reason == "BODY_TOO_LARGE", "\(unpacked)")
      await wire.close()
      let message = String(repeating: "m", count: 60_000)
      let within = try await HTTPWire.exchange(
        port: http.port, "POST", "/v1/fail", ["Content-Type": "application/json"],
        body: #"{"code":5,"message":"\#(message)"}"#)
      #expect(within.status == 404)
      // A caller with a credential may send more.
      let long = String(repeating: "m", count: 100_000)
      let known = try await http.post("/v1/echo", #"{"payload":"\#(long)"}"#)
      #expect(known.status == 200)
      // The gateway cannot verify a session, so it does not count as a credential.
      let session = "Attendance-Session: cas_\(String(repeating: "x", count: 43))\r\n"
      let member = try await HTTPWire.exchange(port: http.port, raw: Self.head("/v1/fail", 65_537, session))
      #expect(member.status == 413)
    }
  }

  @Test func anonymousBodiesTimeOutEarly() async throws {
    try await Self.with(
      Self.budget(),
      {
        $0.strangerBodyTimeoutMs = 40
        $0.bodyTimeoutMs = 600_000
      }
    ) { http in
      let open = try await HTTPWire.exchange(port: http.port, raw: Self.head("/v1/fail", 5) + "{")
      #expect(open.status == 408 && open.reason == "REQUEST_TIMEOUT", "\(open)")
      // A refused request gets its refusal instead of the timeout.
      let refused = try await HTTPWire.exchange(port: http.port, raw: Self.head("/v1/echo", 5) + "{")
      #expect(refused.status == 401 && refused.reason == "CREDENTIAL_MISSING", "\(refused)")
    }
  }

  @Test func connectionStaysUsableAfterARefusedBody() async throws {
    try await Self.with(Self.budget()) { http in
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(Self.head("/v1/echo", 2048) + Self.kilobyte)
      try await wire.send(
        Self.kilobyte + "GET /v1/echo/next HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n\r\n")
      let text = try await wire.read { $0.contains("next") }
      #expect(text.contains("HTTP/1.1 401") && text.contains("HTTP/1.1 200"), "\(text)")
      await wire.close()
    }
  }

  @Test func endlessRefusedBodyIsCutOff() async throws {
    try await Self.with(Self.budget()) { http in
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(
        "POST /v1/echo HTTP/1.1\r\nHost: g\r\n\(HostileHTTPTests.json)Transfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<70 { try? await wire.send("400\r\n\(Self.kilobyte)\r\n") }
      let answer = HTTPWire.parse(try await wire.read())
      #expect(answer.status == 401, "\(answer)")
      await wire.close()
    }
  }

  @Test func callersAreLimitedToTheirShare() async throws {
    let budget = Self.budget(total: 1 << 20, holder: 256 << 10)
    try await Self.with(budget) { http in
      let other = try await http.harness.key("user/bob")
      let bytes = [UInt8](repeating: 0x20, count: 200 << 10)
      func begin(_ secret: String) async throws -> HTTPWire {
        let head = Self.head("/v1/echo", bytes.count + 10, "Authorization: Bearer \(secret)\r\n")
        return try await Self.unfinished(http, head, bytes)
      }
      let first = try await begin(http.secret)
      try await eventually("the first body is buffered") { budget.totalBytes == 200 << 10 }
      let second = try await begin(http.secret)
      let refused = HTTPWire.parse(try await second.read { $0.contains("}") })
      #expect(refused.status == 429 && refused.reason == "WAITING_BYTES_EXCEEDED", "\(refused)")
      #expect(refused.headers["retry-after"] == "1")
      let others = try await begin(other.secret)
      try await eventually("another body is buffered") { budget.totalBytes == 400 << 10 && budget.holderCount == 2 }
      // A body that arrives whole is not buffered.
      #expect(try await http.post("/v1/echo", "{}").status == 200)
      for wire in [first, second, others] { await wire.close() }
      try await eventually("all bytes are released") { budget.totalBytes == 0 }
    }
  }

  @Test func requestsShareTheProcessBudget() async throws {
    let budget = Self.budget(total: 512 << 10, holder: 512 << 10)
    try await Self.with(budget) { http in
      // Held by another caller, for example for frames.
      try budget.reserve(300 << 10, for: "user/bob")
      let bytes = [UInt8](repeating: 0x20, count: 250 << 10)
      let head = Self.head("/v1/echo", bytes.count + 10, "Authorization: Bearer \(http.secret)\r\n")
      let wire = try await Self.unfinished(http, head, bytes)
      let refused = HTTPWire.parse(try await wire.read { $0.contains("}") })
      #expect(refused.status == 503 && refused.reason == "GATEWAY_OVERLOADED", "\(refused)")
      // Unauthenticated callers may use half of the budget, regardless of other callers.
      try budget.reserve(200 << 10, for: "address/192.0.2.1", isStranger: true)
      let stranger = try await Self.unfinished(
        http, Self.head("/v1/fail", 60_000), [UInt8](repeating: 0x20, count: 20_000))
      #expect(HTTPWire.parse(try await stranger.read { $0.contains("}") }).status == 503)
      try await eventually("the first body is released") { budget.totalBytes == 500 << 10 }
      budget.release(300 << 10, for: "user/bob")
      let beyondHalf = try await Self.unfinished(
        http, Self.head("/v1/fail", 65_000), [UInt8](repeating: 0x20, count: 64_000))
      #expect(HTTPWire.parse(try await beyondHalf.read { $0.contains("}") }).status == 503)
      for wire in [wire, stranger, beyondHalf] { await wire.close() }
      budget.release(200 << 10, for: "address/192.0.2.1", isStranger: true)
      try await eventually("all bytes are released") { budget.totalBytes == 0 }
    }
  }

  @Test func littleIsBufferedBehindAnAnonymousRequest() async throws {
    try await Self.with(Self.budget()) { http in
      let body = #"{"code":5,"delayMs":0}"#
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(Self.head("/v1/fail", body.utf8.count) + body)
      let next = Self.head("/v1/fail", 60_000) + String(repeating: " ", count: 60_000)
      try? await wire.send(next + next)
      // The gateway keeps running, whether or not it served a part of this.
      _ = try? await wire.read { $0.contains("}") }
      await wire.close()
      #expect(try await http.get("/v1/echo/still").status == 200)
    }
  }

  // MARK: decompression

  @Test func bodiesAreDecompressedIncrementally() throws {
    let bytes = try Deflated.zeros(100_000)
    let inflater = BodyInflater()
    var count = 0
    for byte in bytes { try inflater.inflate(ByteBuffer(bytes: [byte])) { count += $0.readableBytes } }
    try inflater.finish()
    #expect(count == 100_000)
    let behind = #expect(throws: RPCError.self) { try inflater.inflate(ByteBuffer(bytes: [0])) { _ in } }
    #expect(behind?.reason == "BODY_NOT_DECODED")
    let cut = BodyInflater()
    try cut.inflate(ByteBuffer(bytes: bytes.dropLast(9))) { _ in }
    #expect(throws: RPCError.self) { try cut.finish() }
    #expect(throws: RPCError.self) { try BodyInflater().inflate(ByteBuffer(bytes: [1, 2, 3])) { _ in } }
    // An error thrown by the closure stops the decompression.
    var pieces = 0
    #expect(throws: RPCError.self) {
      try BodyInflater().inflate(ByteBuffer(bytes: bytes)) { _ throws(RPCError) in
        pieces += 1
        throw BodyAccount.overloaded
      }
    }
    #expect(pieces == 1)
  }
}
