import CampanileRPC
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Client-streaming methods over HTTP/1.1, with the messages in the body.
@Suite struct ConnectMessagesTests {
  static let path = "POST /campanile.rpc.v1.EchoService/"

  private static func envelope(_ text: String, flags: UInt8 = 0) -> [UInt8] {
    [flags] + withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { Array($0) } + Array(text.utf8)
  }

  private static func head(
    _ method: String, _ http: HTTPHarness, length: Int? = nil, secret: String? = nil, more: String = ""
  ) -> String {
    let size = length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
    return path + method + " HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(secret ?? http.secret)\r\n"
      + "Content-Type: application/connect+json\r\n\(more)\(size)\r\n\r\n"
  }

  private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
    Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
  }
  private static let lastChunk = Array("0\r\n\r\n".utf8)

  /// Returns the messages of a response with their flags. Supports only short messages, whose lengths are ASCII.
  private static func messages(_ answer: HTTPWire.Answer) -> [(flags: UInt8, text: String)] {
    var rest = Array(answer.body.utf8)[...]
    var found: [(flags: UInt8, text: String)] = []
    while rest.count >= 5 {
      let length = rest.dropFirst(1).prefix(4).reduce(0) { $0 << 8 | Int($1) }
      found.append((rest[rest.startIndex], String(decoding: rest.dropFirst(5).prefix(length), as: UTF8.self)))
      rest = rest.dropFirst(5 + length)
    }
    return found
  }

  /// Returns whether a response consists only of the last envelope, with an error. Its length exceeds ASCII, so it is
  /// not parsed.
  private static func isFailure(_ answer: HTTPWire.Answer, _ reason: String) -> Bool {
    answer.status == 200 && answer.body.utf8.first == 2 && answer.body.contains("\"reason\":\"\(reason)\"")
  }

  private static func answer(_ wire: HTTPWire) async throws -> HTTPWire.Answer {
    HTTPWire.parse(try await wire.read { $0.hasSuffix("0\r\n\r\n") })
  }

  @Test func clientStreamReceivesOneResponse() async throws {
    try await withHTTP { http in
      let wire = try await HTTPWire(port: http.port)
      // Chunks end anywhere, and the connection serves two calls.
      for _ in 0..<2 {
        try await wire.send(Self.head("Collect", http))
        let body = ["ab", "c", ""].flatMap { Self.envelope("{\"payload\":\"\($0)\"}") }
        for start in stride(from: 0, to: body.count, by: 7) {
          try await wire.send(Self.chunk(Array(body[start..<min(start + 7, body.count)])))
        }
        try await wire.send(Self.lastChunk)
        let answer = try await Self.answer(wire)
        #expect(answer.status == 200 && answer.headers["content-type"] == "application/connect+json")
        let messages = Self.messages(answer)
        #expect(messages.map(\.flags) == [0, 2] && messages.last?.text == "{}", "\(messages)")
        #expect(messages.first?.text == #"{"messageCount":3,"payloadSizeBytes":"3"}"#)
      }
      await wire.close()
    }
  }

  @Test func manyMessagesAreDeliveredWithinCredit() async throws {
    try await withHTTP { http in
      let one = Self.envelope("{\"payload\":\"\(String(repeating: "x", count: 1000))\"}")
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(Self.head("Collect", http, length: one.count * 5000))
      for _ in 0..<50 { try await wire.send(Array(repeatElement(one, count: 100).joined())) }
      let messages = Self.messages(try await Self.answer(wire))
      #expect(messages.first?.text == #"{"messageCount":5000,"payloadSizeBytes":"5000000"}"#)
      await wire.close()
      try await eventually("the call has ended") { http.harness.recorder.all.contains { $0.method == "Collect" } }
    }
  }

  @Test func bothSidesMayStream() async throws {
    try await withHTTP { http in
      let body = (0..<100).flatMap { Self.envelope("{\"payload\":\"\($0)\"}") }
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(Self.head("Chat", http, length: body.count))
      try await wire.send(body)
      let messages = Self.messages(try await Self.answer(wire))
      #expect(messages.count == 101 && messages.last?.flags == 2 && messages.last?.text == "{}")
      #expect(messages.dropLast().last?.text.contains("\"payload\":\"99\"") == true)
      await wire.close()
    }
  }

  @Test func errorsAreReportedInTheLastEnvelope() async throws {
    try await withHTTP {
      $0.bodyBytesMax = 1000
    } _: { http in
      let good = Self.envelope(#"{"payload":"a"}"#)
      let cases: [(bytes: [UInt8], reason: String)] = [
        (good + [0, 0, 0, 0, 9, 0x7B], "ENVELOPE_INVALID"), (good + [0, 0], "ENVELOPE_INVALID"),
        (good + [4, 0, 0, 0, 0], "ENVELOPE_INVALID"), (good + Self.envelope("{}", flags: 2), "ENVELOPE_INVALID"),
        (good + Self.envelope("{}", flags: 1), "ENVELOPE_INVALID"), (good + Self.envelope("{x}"), "BODY_NOT_JSON"),
        (good + [0, 0, 0, 4, 0], "BODY_TOO_LARGE"), ([0, 0xFF, 0xFF, 0xFF, 0xFF], "BODY_TOO_LARGE"),
      ]
      for (bytes, reason) in cases {
        let wire = try await HTTPWire(port: http.port)
        try await wire.send(Self.head("Collect", http, length: bytes.count))
        try? await wire.send(bytes)
        let answer = try await Self.answer(wire)
        #expect(Self.isFailure(answer, reason), "\(reason): \(answer)")
        await wire.close()
      }
      let wire = try await HTTPWire(port: http.port)
      try await wire.send(Self.head("Collect", http, secret: "cmp_wrong"))
      let refused = try await Self.answer(wire)
      #expect(Self.isFailure(refused, "CREDENTIAL_INVALID"), "\(refused)")
      await wire.close()
      #expect(try await http.post("/campanile.rpc.v1.EchoService/Collect", "{}").status == 415)
    }
  }

  @Test func disconnectingCancelsTheCall() async throws {
    try await withHTTP { http in
      for method in ["Collect", "Chat"] {
        let wire = try await HTTPWire(port: http.port)
        try await wire.send(Self.head(method, http))
        try await wire.send(Self.chunk(Self.envelope(#"{"payload":"a"}"#)))
        try await eventually("\(method) has begun") { http.backend.seen.all.contains { $0.method.name == method } }
        await wire.close()
        try await eventually("\(method) has ended") {
          http.harness.recorder.all.contains { $0.method == method && $0.code == "CANCELLED" }
        }
      }
    }
  }

  @Test func stalledRequestStreamTimesOut() async throws {
    try await withHTTP {
      $0.bodyTimeoutMs = 50
    } _: { http in
      let wire = try await HTTPWire(port: http.port)
      // Send everything at once, because a busy machine may exceed the timeout between two sends.
      try await wire.send(Array(Self.head("Collect", http).utf8) + Self.chunk(Self.envelope(#"{"payload":"a"}"#)))
      let answer = try await Self.answer(wire)
      #expect(Self.isFailure(answer, "REQUEST_TIMEOUT"), "\(answer)")
      try await eventually("the call has ended") { http.harness.recorder.all.contains { $0.method == "Collect" } }
      await wire.close()
    }
  }
}
